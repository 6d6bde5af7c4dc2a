package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// AcknowledgeDecision notes that the person has a card open on the calling
// device, whose alert then waits a little longer if it has not been sent. It
// returns when this device is called; zero where nothing waits. By any device.
// Errors: ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) AcknowledgeDecision(ctx context.Context, p policy.Principal, id string) (time.Time, error) {
	return commit(ctx, a, a.acknowledging(p, id))
}

func (a *App) acknowledging(p policy.Principal, id string) change[time.Time] {
	return onDevice(p, func(tx *store.Tx, inst store.Installation) (due time.Time, err error) {
		if _, err := ownAccount(p, store.KindDecision, id); err != nil {
			return due, err
		}
		d, err := tx.Decision(id)
		if err != nil || d.Status != decision.Pending {
			return due, err
		}
		own, err := addressesOf(tx.Read, inst.ID)
		if err != nil {
			return due, err
		}
		rows, err := tx.DeliveriesAbout(id)
		if err != nil {
			return due, err
		}
		for _, row := range rows {
			for _, address := range own {
				if row.Address != address.ID {
					continue
				}
				at, err := acknowledge(tx, row)
				if err != nil {
					return due, err
				}
				if due.IsZero() || !at.IsZero() && at.Before(due) {
					due = at
				}
			}
		}
		return due, nil
	})
}

// acknowledge lets one row wait and returns when it is due; zero where it does
// not wait.
func acknowledge(tx *store.Tx, row push.Delivery) (time.Time, error) {
	next, events, err := outbox.Step(row, outbox.Acknowledge{}, tx.Now())
	if err != nil {
		return time.Time{}, err
	}
	if len(events) > 0 {
		if err := tx.UpdateDelivery(next); err != nil {
			return time.Time{}, err
		}
	}
	if next.State != push.Pending || !next.DueAt.After(tx.Now()) {
		return time.Time{}, nil
	}
	return next.DueAt, nil
}
