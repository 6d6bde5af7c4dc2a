package app

import (
	"errors"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// freshWithdrawal looks at what a withdrawal takes back, and at how its subject
// ended.
func (a *App) freshWithdrawal(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	closing, open, err := closingOf(tx, row.Subject, now)
	if err != nil {
		return err
	}
	alerts, err := tx.DeliveriesAbout(row.Key())
	if err != nil {
		return err
	}
	alerts = slices.DeleteFunc(alerts, func(d push.Delivery) bool { return d.Kind == push.Withdraw || d.Address != row.Address })
	var to push.Address
	if *f, to = outbox.FreshWithdrawal(row, open, alerts, address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	in.Closing = closing
	*m = plan.Compose(in)
	return nil
}

// closingOf is how a subject ended, or that it has not.
func closingOf(tx *store.Read, s push.Subject, now time.Time) (closing plan.Closing, open bool, err error) {
	if s.Decision == "" {
		_, open, err := resultNow(tx, s)
		return plan.Handled, open, err
	}
	d, err := tx.Decision(s.Decision)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return plan.Gone, false, nil
	case err != nil:
		return "", false, err
	case d.Status == decision.Resolved:
		return plan.Handled, false, nil
	case d.Status == decision.Expired:
		return plan.TimedOut, false, nil
	case d.Status == decision.Pending:
		return plan.Snoozed, d.Wanted(now), nil
	default:
		return plan.Gone, false, nil
	}
}

// freshTest is a test push: it has no subject that could be over.
func (a *App) freshTest(tx *store.Read, row push.Delivery, address outbox.AddressNow, now time.Time, m *push.Message, f *outbox.Freshness) error {
	var to push.Address
	if *f, to = outbox.Fresh(row, outbox.SubjectNow{Open: true, Version: row.Version}, address, now); !f.Send() {
		return nil
	}
	in, err := a.input(tx, row, to)
	if err != nil {
		return err
	}
	*m = plan.Compose(in)
	return nil
}
