package apns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// deaf is an app that does nothing with what it is handed.
type deaf struct{}

func (deaf) Receive(context.Context, device.Notification)           {}
func (deaf) Open(context.Context, device.Notification) error        { return nil }
func (deaf) Act(context.Context, device.Notification, string) error { return nil }

// phone adds a device whose app was ended by its person, so that only what the
// system does by itself can change the screen.
func (b *bundle) phone(t *testing.T, to push.Address) *device.Device {
	t.Helper()
	d := device.New(device.Config{Name: "phone"})
	t.Cleanup(d.Close)
	if err := d.Install(to.Topic, deaf{}); err != nil {
		t.Fatal(err)
	}
	d.ForceQuit(to.Topic)
	err := b.emulator.AddDevice(emulator.Registration{Token: to.Token, Topic: to.Topic, Env: emulator.Sandbox, Phone: d})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// alertFor is the alert of a decision on the phone, with the badge at its time.
func alertFor(dec string, badge uint32) push.Message {
	m := decision()
	m.Address.Token = strings.Repeat("b2", 32)
	m.ProviderID, m.CollapseID = push.ProviderID("dlv "+dec), push.CollapseID(dec)
	m.Payload.Decision, m.Payload.Badge.Count = dec, badge
	m.ExpiresAt = time.Now().Add(time.Hour)
	return m
}

// back is what takes it back.
func back(m push.Message, title string, badge uint32) push.Message {
	m.ProviderID = push.ProviderID("back " + m.ProviderID)
	m.Text = push.Text{Title: title}
	m.Payload.Kind, m.Payload.Actions, m.Payload.Asked = push.Withdraw, nil, ""
	m.Payload.Badge.Count = badge
	return m
}

func titles(d *device.Device, app string) (all []string) {
	for _, s := range d.Shown(app) {
		all = append(all, s.Title)
	}
	return all
}

// B4: clearing must not need the app. The alert of a phone whose app was ended
// is replaced by the system, and nothing rings.
func TestWithdraw_B4_ReplacesWithoutTheApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alert := alertFor("dec_1", 1)
	d := b.phone(t, alert.Address)
	wantOK(t, b.send(t, alert))
	wantOK(t, b.send(t, back(alert, "Handled on another device", 0)))
	if diff := cmp.Diff([]string{"Handled on another device"}, titles(d, alert.Address.Topic)); diff != "" {
		t.Errorf("on the screen (-want +got):\n%s", diff)
	}
	shown := d.Shown(alert.Address.Topic)[0]
	if shown.Level != device.Passive || shown.Sound != "" || shown.Category != "" || !shown.Mutable {
		t.Errorf("replaced by %+v", shown.Notification)
	}
	if n := d.Rings(alert.Address.Topic); n != 1 {
		t.Errorf("rang %d times", n)
	}
}

// B6: a badge of 0 erases everything of the app. Two are shown and one is
// handled: the other one remains, and the number is 1. When nothing is left to
// count, the number is left to the app.
func TestWithdraw_B6_TheOtherAlertRemains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := alertFor("dec_1", 1), alertFor("dec_2", 2)
	d := b.phone(t, first.Address)
	wantOK(t, b.send(t, first))
	wantOK(t, b.send(t, second))
	wantOK(t, b.send(t, back(first, "Handled on another device", 1)))
	topic := first.Address.Topic
	if diff := cmp.Diff([]string{second.Text.Title, "Handled on another device"}, titles(d, topic)); diff != "" {
		t.Errorf("on the screen (-want +got):\n%s", diff)
	}
	if n := d.Badge(topic); n != 1 {
		t.Errorf("badge %d", n)
	}
	wantOK(t, b.send(t, back(second, "Expired: nothing was run", 0)))
	if n := len(d.Shown(topic)); n != 2 {
		t.Errorf("%d alerts are left: a push must not clear the screen", n)
	}
}

// listening is an app that takes what is named off the screen, as far as the
// system runs it.
type listening struct {
	deaf

	d    *device.Device
	woke chan []string
}

func (l *listening) Receive(_ context.Context, n device.Notification) {
	var p struct {
		Beckon struct {
			Kind string   `json:"kind"`
			Tags []string `json:"tags"`
		} `json:"beckon"`
	}
	if json.Unmarshal(n.Payload, &p) != nil || p.Beckon.Kind != "PUSH_KIND_SWEEP" {
		return
	}
	l.d.Remove(n.App, p.Beckon.Tags...)
	l.woke <- p.Beckon.Tags
}

// sweepOf is the second step about some alerts.
func sweepOf(name string, alerts ...push.Message) push.Message {
	m := alerts[0]
	m.ProviderID, m.CollapseID = push.ProviderID(name), ""
	m.Text, m.ExpiresAt = push.Text{}, time.Time{}
	m.Payload = push.Payload{Kind: push.Sweep, Account: m.Payload.Account, AsOf: m.Payload.AsOf, Badge: m.Payload.Badge}
	for _, a := range alerts {
		m.Payload.Tags = append(m.Payload.Tags, a.CollapseID)
	}
	return m
}

// B4: the second step wakes the app where the system runs it, in the form that
// Apple asks of a background push. An app that its person has ended, a phone that
// is off and the fourth in an hour get nothing, and the text of the first step
// stays.
func TestSweep_B4_WakesTheApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alert := alertFor("dec_1", 1)
	topic := alert.Address.Topic
	d := b.phone(t, alert.Address)
	app := &listening{d: d, woke: make(chan []string, 10)}
	if err := d.Install(topic, app); err != nil {
		t.Fatal(err)
	}
	show := func() {
		wantOK(t, b.send(t, alert))
		wantOK(t, b.send(t, back(alert, "Handled on another device", 1)))
	}
	show()
	wantOK(t, b.send(t, sweepOf("quit", alert)))
	if n := len(d.Shown(topic)); n != 1 {
		t.Fatalf("a force-quit app was run: %d shown", n)
	}
	d.Launch(topic)
	for i := range 3 {
		show()
		wantOK(t, b.send(t, sweepOf(fmt.Sprint(i), alert)))
		if tags := <-app.woke; len(tags) != 1 || tags[0] != alert.CollapseID || len(d.Shown(topic)) != 0 {
			t.Errorf("woken for %v, shows %v", tags, titles(d, topic))
		}
	}
	show()
	wantOK(t, b.send(t, sweepOf("fourth", alert)))
	if n := len(d.Shown(topic)); n != 1 {
		t.Errorf("the fourth in an hour was run: %d shown", n)
	}
	all := b.emulator.Requests()
	last := all[len(all)-1]
	if last.PushType != "background" || last.Priority != "5" || last.Expiration != "0" || last.CollapseID != "" {
		t.Errorf("sent as %+v", last)
	}
	if diff := cmp.Diff(`{"content-available":1}`, apsOf(t, last.Payload)); diff != "" {
		t.Errorf("aps (-want +got):\n%s", diff)
	}
}

// B20, B6: a number alone lowers the badge of a phone whose app is not running,
// without a sound, and takes nothing off the screen; and for a phone that is off
// it does not take the place of the alert that waits there.
func TestBadge_B20_LowersWithoutTheApp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	alert := alertFor("dec_1", 3)
	topic := alert.Address.Topic
	d := b.phone(t, alert.Address)
	wantOK(t, b.send(t, alert))
	count := sweepOf("badge", alert)
	count.Payload.Kind, count.Payload.Tags, count.Payload.Badge.Count = push.BadgeOnly, nil, 2
	wantOK(t, b.send(t, count))
	if d.Badge(topic) != 2 || len(d.Shown(topic)) != 1 || d.Rings(topic) != 1 {
		t.Errorf("badge %d, %d shown, rang %d times", d.Badge(topic), len(d.Shown(topic)), d.Rings(topic))
	}
	all := b.emulator.Requests()
	last := all[len(all)-1]
	if last.PushType != "alert" || last.Priority != "5" || last.Expiration != "0" {
		t.Errorf("sent as %+v", last)
	}
	if diff := cmp.Diff(`{"badge":2}`, apsOf(t, last.Payload)); diff != "" {
		t.Errorf("aps (-want +got):\n%s", diff)
	}
	d.SetOnline(false)
	waits := alertFor("dec_2", 3)
	wantOK(t, b.send(t, waits))
	count.ProviderID = push.ProviderID("badge 2")
	wantOK(t, b.send(t, count))
	wantOK(t, b.send(t, sweepOf("off", alert)))
	d.SetOnline(true)
	if n := len(d.Shown(topic)); n != 2 || d.Badge(topic) != 3 {
		t.Errorf("%d shown, badge %d: the alert was lost", n, d.Badge(topic))
	}
}

func apsOf(t *testing.T, body []byte) string {
	t.Helper()
	var p struct {
		APS json.RawMessage `json:"aps"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	return string(p.APS)
}

// B5: Apple takes any number of withdrawals and sweeps, and a decision after
// them comes at once.
func TestWithdraw_B5_DecisionAfterManyAtApple(t *testing.T) {
	t.Parallel()
	const many = 300
	b := setup(t)
	alert := alertFor("dec_last", 1)
	d := b.phone(t, alert.Address)
	for i := range many {
		m := alertFor(fmt.Sprint("dec_", i), 1)
		wantOK(t, b.send(t, m))
		wantOK(t, b.send(t, back(m, "Handled on another device", 0)))
	}
	before := d.Rings(alert.Address.Topic)
	wantOK(t, b.send(t, alert))
	if n := d.Rings(alert.Address.Topic); n != before+1 || before != many {
		t.Errorf("rang %d times, then %d", before, n)
	}
}
