package app

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/task"
)

// Fresh reads the subject and the address of a claimed row as they are now,
// right before the send, and renders the message or says how the row ends. The
// residue is one round trip to the vendor.
func (o Outbox) Fresh(ctx context.Context, d push.Delivery) (push.Message, outbox.Freshness, error) {
	var message push.Message
	var fresh outbox.Freshness
	err := o.app.store.View(ctx, d.Account, func(tx *store.Read) error {
		address, err := readAddress(tx, d.Address)
		if err != nil {
			return err
		}
		now := tx.Now()
		switch d.Kind {
		case push.DecisionRequired:
			return o.app.freshDecision(tx, d, address, now, &message, &fresh)
		case push.Withdraw:
			return o.app.freshWithdrawal(tx, d, address, now, &message, &fresh)
		case push.Sweep:
			return o.app.freshSweep(tx, d, address, now, &message, &fresh)
		case push.BadgeOnly:
			return o.app.freshBadge(tx, d, address, now, &message, &fresh)
		case push.Test:
			return o.app.freshTest(tx, d, address, now, &message, &fresh)
		default:
			return o.app.freshResult(tx, d, address, now, &message, &fresh)
		}
	})
	return message, fresh, err
}

func (a *App) freshDecision(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	d, err := tx.Decision(row.Decision)
	gone := errors.Is(err, store.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	subject := outbox.SubjectNow{Open: !gone && d.Wanted(now), Version: d.Revision, Deadline: d.ExpireTime}
	if off.Rule("R21") {
		subject.Open, subject.Version = true, row.Version
	}
	var to push.Address
	if *f, to = outbox.Fresh(row, subject, address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	inst, err := tx.Installation(to.Installation)
	if err != nil {
		return err
	}
	link, err := tx.Link(d.Agent)
	if err != nil {
		return err
	}
	th, err := tx.Thread(d.Thread)
	if err != nil {
		return err
	}
	card := cardOf(d, link.Name, th.Title)
	in.Card, in.Deadline, in.Asked = &card, d.ExpireTime, hex.EncodeToString(d.Asked[:])
	in.OptedIn, in.Probation = link.LockScreen, !inst.Full(now)
	var failed error
	in.Tap = func(v push.Verb) string {
		token, err := a.tap(tx, inst.ID, d, v)
		failed = errors.Join(failed, err)
		return token
	}
	*m = plan.Compose(in)
	return failed
}

// tap mints the token of one button: one decision, revision, verb and device. It is
// empty, and there is no button, in the last second before the deadline.
func (a *App) tap(tx *store.Read, installation string, d decision.State, v push.Verb) (string, error) {
	expires := tx.Now().Add(a.limits.TapLife)
	if !d.ExpireTime.IsZero() && d.ExpireTime.Before(expires) {
		expires = d.ExpireTime
	}
	// A token counts whole seconds. One for the last of them would be over when it
	// is made, and the alert is worth more than its buttons.
	if !expires.Truncate(time.Second).After(tx.Now().Truncate(time.Second)) {
		return "", nil
	}
	return a.tokens.Tap(TapGrant{
		Account: tx.Account(), Installation: installation, Decision: d.ID, Revision: d.Revision,
		Asked: d.Asked, Verb: string(v), ExpireTime: expires,
	})
}

func (a *App) freshResult(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	s, open, err := resultNow(tx, row.Subject)
	if err != nil {
		return err
	}
	subject := outbox.SubjectNow{Open: open, Version: row.Version}
	var to push.Address
	if *f, to = outbox.Fresh(row, subject, address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	link, err := tx.Link(s.Agent)
	if err != nil {
		return err
	}
	th, err := tx.Thread(row.Thread)
	if err != nil {
		return err
	}
	in.Result = &plan.Result{Agent: link.Name, Thread: th.Title, Outcome: endOutcome(s), Summary: endSummary(s)}
	*m = plan.Compose(in)
	return nil
}

// resultNow is a task that has ended, and whether its end is still unread. A
// result that was read, on whatever device, calls nobody any more, however much
// else in the thread is new.
func resultNow(tx *store.Read, about push.Subject) (s task.State, open bool, err error) {
	s, err = tx.Task(about.Task)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return s, false, err
	}
	th, err := tx.Thread(about.Thread)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return s, false, err
	}
	return s, s.EndPosition > th.Read.Position, nil
}

// input is what every push carries: stamp, badge and the level the person
// chose.
func (a *App) input(tx *store.Read, row push.Delivery, to push.Address) (plan.Input, error) {
	settings, err := tx.Settings()
	if err != nil {
		return plan.Input{}, err
	}
	pos, err := tx.AsOf(changelog.AccountScope)
	if err != nil {
		return plan.Input{}, err
	}
	to.Level = levelOf(settings.Level)
	return plan.Input{
		Row: row, Address: to,
		AsOf: stampText(a.stamps.Stamp(tx.Account(), changelog.AccountScope, pos)),
		Badge: push.Badge{
			Count: tx.Counters().Badge(), Epoch: base64.RawURLEncoding.EncodeToString(pos.Epoch[:]), Version: uint64(pos.Seq),
		},
	}, nil
}

func levelOf(l store.ContentLevel) push.Level {
	switch l {
	case store.LevelFull:
		return push.LevelFull
	case store.LevelTitle:
		return push.LevelTitle
	default:
		return push.LevelIDs
	}
}

func cardOf(d decision.State, agent, thread string) plan.Card {
	card := plan.Card{Agent: agent, Thread: thread, Class: int(d.Class), MustView: len(d.MustView()) > 0}
	questions := []string{d.Title}
	for _, it := range d.Items {
		if it.Question != "" && it.Question != d.Title {
			questions = append(questions, it.Question)
		}
		for _, f := range it.Facts {
			card.Facts = append(card.Facts, plan.Fact{Label: f.Label, Value: f.Value})
			card.Marked = card.Marked || f.Marked
		}
	}
	card.Question = strings.Join(questions, "\n")
	_, card.Tappable = decision.TapAnswer(d, decision.Deny)
	return card
}

func endSummary(s task.State) string {
	switch {
	case s.Result != nil:
		return s.Result.Summary
	case s.Failure != nil && s.Failure.Text != "":
		return s.Failure.Text
	case s.Failure != nil:
		return s.Failure.Code
	case s.Phase == task.Expired:
		return s.Title + ": its deadline passed"
	default:
		return s.Title
	}
}
