package phone

import (
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

var (
	// ErrForeign answers a push that is for another account: the phone may have
	// changed hands.
	ErrForeign = errors.New("phone: account tag of another account")
	// ErrMalformed answers a push without a payload that the app can read.
	ErrMalformed = errors.New("phone: the push carries nothing the app can read")
	// ErrNoButton answers a tap on a button that is not there.
	ErrNoButton = errors.New("phone: the alert has no such button")
)

// Alert is one alert on the lock screen as the app sees it.
type Alert struct {
	Phone  string `json:"phone"`
	Vendor Vendor `json:"vendor"`
	// Key names it on the screen, ID is the vendor's name of the delivery.
	Key string `json:"key"`
	ID  string `json:"id"`

	Title string `json:"title"`
	Body  string `json:"body,omitempty"`
	// Push is decision, result or test; empty for what the app itself put up.
	Push     string `json:"push,omitempty"`
	Thread   string `json:"thread,omitempty"`
	Task     string `json:"task,omitempty"`
	Decision string `json:"decision,omitempty"`
	Revision uint32 `json:"revision,omitempty"`
	// Buttons are the verbs that can be tapped now.
	Buttons []string `json:"buttons,omitempty"`
	// Badge is the number on the icon.
	Badge int `json:"badge"`
	// Level says how much it interrupts: passive, active, time-sensitive. At is
	// when it appeared or was last replaced.
	Level device.Level `json:"level,omitempty"`
	At    time.Time    `json:"at,omitzero"`
	// Again: the same delivery was seen before.
	Again bool `json:"again,omitempty"`
}

// payload reads what travels for the app. The alert is strict: what this app does
// not know would be news in the contract.
func payload(n device.Notification) (*v1.PushPayload, error) {
	out := &v1.PushPayload{}
	if raw := body(n); len(raw) == 0 || protojson.Unmarshal(raw, out) != nil || out.GetV() != 1 {
		return nil, ErrMalformed
	}
	return out, nil
}

// mine is payload for pushes of the account this phone belongs to.
func (a *App) mine(n device.Notification) (*v1.PushPayload, error) {
	p, err := payload(n)
	if err != nil {
		return nil, err
	}
	if tag := a.State().AccountTag; tag == "" || p.GetAccount() != tag {
		return nil, ErrForeign
	}
	return p, nil
}

// drawn lists the buttons that the app registers under each category.
func drawn(category string) []string {
	switch category {
	case "BECKON_DECISION_APPROVE", ownButtons:
		return []string{Approve, Deny}
	case "BECKON_DECISION_DENY":
		return []string{Deny}
	default:
		return nil
	}
}

// buttons are the verbs that an alert shows: drawn by its category, carried by
// its payload, and not past their time.
func buttons(n device.Notification, p *v1.PushPayload, now time.Time) []string {
	if p.GetExpireTime() != nil && !now.Before(p.GetExpireTime().AsTime()) {
		return nil
	}
	var out []string
	for _, verb := range drawn(n.Category) {
		if _, ok := tokenOf(p, verb); ok {
			out = append(out, verb)
		}
	}
	return out
}

func tokenOf(p *v1.PushPayload, verb string) (string, bool) {
	for _, action := range p.GetActions() {
		if action.GetVerb() == verb {
			return action.GetToken(), true
		}
	}
	return "", false
}

func pushKind(p *v1.PushPayload) string {
	switch p.GetKind() {
	case v1.PushKind_PUSH_KIND_DECISION_REQUIRED:
		return "decision"
	case v1.PushKind_PUSH_KIND_RESULT_READY:
		return "result"
	case v1.PushKind_PUSH_KIND_WITHDRAW:
		return "withdraw"
	case v1.PushKind_PUSH_KIND_SWEEP:
		return "sweep"
	case v1.PushKind_PUSH_KIND_BADGE:
		return "badge"
	case v1.PushKind_PUSH_KIND_TEST:
		return "test"
	default:
		return ""
	}
}

// Screen is what the app has on the lock screen, oldest first.
func (a *App) Screen() []Alert {
	shown := a.cfg.Device.Shown(a.cfg.Topic)
	out := make([]Alert, 0, len(shown))
	for _, s := range shown {
		shown := a.alert(s.Key, s.Notification)
		shown.At = s.At
		out = append(out, shown)
	}
	return out
}

func (a *App) alert(key string, n device.Notification) Alert {
	out := Alert{
		Phone: a.Name(), Vendor: a.cfg.Vendor, Key: key, ID: n.ID, Title: n.Title, Body: n.Body,
		Badge: a.cfg.Device.Badge(a.cfg.Topic), Level: n.Level,
	}
	if p, err := payload(n); err == nil {
		out.Push, out.Thread, out.Task = pushKind(p), p.GetThread(), p.GetTask()
		out.Decision, out.Revision = p.GetDecision(), p.GetRevision()
		out.Buttons = buttons(n, p, a.now())
	}
	return out
}

// event is the beginning of an event about a push.
func event(kind Kind, n device.Notification, p *v1.PushPayload) Event {
	return Event{
		Kind: kind, Delivery: n.ID, Push: pushKind(p), Thread: p.GetThread(), Task: p.GetTask(),
		Decision: p.GetDecision(), Revision: p.GetRevision(),
	}
}

// Receive is called by the system with each push: on an iPhone once it is on the
// screen, on an Android phone to be put there.
func (a *App) Receive(ctx context.Context, n device.Notification) {
	p, err := a.mine(n)
	if err != nil {
		a.drop(n, err)
		return
	}
	switch p.GetKind() {
	case v1.PushKind_PUSH_KIND_WITHDRAW:
		a.takeBack(ctx, n, p, tagOf(n))
		return
	case v1.PushKind_PUSH_KIND_SWEEP:
		a.takeBack(ctx, n, p, p.GetTags()...)
		return
	case v1.PushKind_PUSH_KIND_BADGE:
		a.count(n, p)
		return
	default: // an alert
	}
	if n.Data != nil {
		if n, err = a.notify(n, p); err != nil {
			a.drop(n, err)
			return
		}
	}
	seen := slices.ContainsFunc(a.history.All(), func(e Event) bool { return e.Kind == Arrived && e.Delivery == n.ID })
	if err := a.applyBadge(p); err != nil {
		a.fail(event(Failed, n, p), err)
	}
	e := event(Arrived, n, p)
	badge := a.cfg.Device.Badge(a.cfg.Topic)
	e.Badge = &badge
	a.tell(e)
	key := a.keyOf(n)
	if a.cfg.Observe != nil {
		alert := a.alert(key, n)
		alert.Again = seen
		a.cfg.Observe(alert)
	}
	auto := a.Auto()
	if slices.Contains(buttons(n, p, a.now()), auto) {
		_, _ = a.press(ctx, key, auto, true) // told as an event
		return
	}
	a.follow(ctx, n, p)
}

// tagOf is the identity that a push has on the screen.
func tagOf(n device.Notification) string {
	if n.Data != nil {
		return n.Data["tag"]
	}
	return n.Tag
}

// count takes in a push that carries nothing but the number.
func (a *App) count(n device.Notification, p *v1.PushPayload) {
	if err := a.applyBadge(p); err != nil {
		a.fail(event(Failed, n, p), err)
	}
	e := event(Counted, n, p)
	badge := a.cfg.Device.Badge(a.cfg.Topic)
	e.Badge = &badge
	a.tell(e)
}

// takeBack removes what is shown under the identities of a withdrawal or a sweep.
// On an iPhone that is the withdrawal itself, which has taken the place of the
// alert.
func (a *App) takeBack(ctx context.Context, n device.Notification, p *v1.PushPayload, tags ...string) {
	e := event(Withdrawn, n, p)
	e.Removed = a.cfg.Device.Remove(a.cfg.Topic, tags...)
	if err := a.applyBadge(p); err != nil {
		a.fail(event(Failed, n, p), err)
	}
	badge := a.cfg.Device.Badge(a.cfg.Topic)
	e.Badge = &badge
	a.tell(e)
	a.follow(ctx, n, p)
}

// follow reads what a push is a hint of, for as long as the system lets the app
// run.
func (a *App) follow(ctx context.Context, n device.Notification, p *v1.PushPayload) {
	limited, cancel := context.WithTimeout(ctx, a.cfg.Window)
	defer cancel()
	if err := a.SyncTo(limited, p.GetAsOf()); err != nil && ctx.Err() == nil {
		a.fail(event(Failed, n, p), err)
	}
}

// keyOf finds the name a delivery has on the screen.
func (a *App) keyOf(n device.Notification) string {
	for _, s := range a.cfg.Device.Shown(a.cfg.Topic) {
		if s.ID == n.ID {
			return s.Key
		}
	}
	return n.Tag
}

// drop takes a push off the screen that is not this account's, and puts its own
// number back on the icon.
func (a *App) drop(n device.Notification, why error) {
	for _, s := range a.cfg.Device.Shown(a.cfg.Topic) {
		if s.ID == n.ID {
			a.cfg.Device.Remove(a.cfg.Topic, s.Key)
		}
	}
	if n.Badge != nil {
		a.showBadge()
	}
	a.tell(Event{Kind: Dropped, Delivery: n.ID, Error: why.Error()})
}

// applyBadge keeps the newest number. The system has drawn the number of this
// push already, so that of a late one is put back.
func (a *App) applyBadge(p *v1.PushPayload) error {
	b := p.GetBadge()
	next := Badge{Count: int(b.GetCount()), Epoch: b.GetEpoch(), Version: b.GetVersion()}
	return a.keepBadge(next)
}

func (a *App) keepBadge(next Badge) error {
	if next.newer(a.State().Badge) && next != a.State().Badge {
		if err := a.change(func(s *State) { s.Badge = next }); err != nil {
			return err
		}
	}
	a.showBadge()
	return nil
}

// showBadge makes the icon show the number held. A zero wipes every alert of the
// app, so it is set only when nothing is left on the screen.
func (a *App) showBadge() {
	want := a.State().Badge.Count
	if a.cfg.Device.Badge(a.cfg.Topic) == want {
		return
	}
	if want == 0 && len(a.cfg.Device.Shown(a.cfg.Topic)) > 0 {
		return
	}
	a.cfg.Device.SetBadge(a.cfg.Topic, want)
}
