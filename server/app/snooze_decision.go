package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// SnoozeResult is the question as it stands.
type SnoozeResult struct {
	Decision decision.State
	AsOf     []byte
}

// SnoozeDecision puts a question aside for a while, at most until its end: it
// leaves the attention set and every screen, and calls again when the while is
// over. Nobody has answered anything. Zero brings it back now. By any device.
// Errors: *decision.InvalidError, ErrWrongPrincipal, ErrRevoked,
// store.ErrNotFound.
func (a *App) SnoozeDecision(ctx context.Context, p policy.Principal, id string, length time.Duration) (SnoozeResult, error) {
	return commit(ctx, a, a.snoozing(p, id, length))
}

func (a *App) snoozing(p policy.Principal, id string, length time.Duration) change[SnoozeResult] {
	return onDevice(p, func(tx *store.Tx, inst store.Installation) (SnoozeResult, error) {
		if _, err := ownAccount(p, store.KindDecision, id); err != nil {
			return SnoozeResult{}, err
		}
		d, err := tx.Decision(id)
		if err != nil {
			return SnoozeResult{}, err
		}
		c := decision.Snooze{}
		if length != 0 {
			c.Until = tx.Now().Add(length)
		}
		next, err := a.snooze(tx, d, c, inst.ID)
		if err != nil {
			return SnoozeResult{}, err
		}
		asOf, err := a.asOf(tx)
		return SnoozeResult{Decision: next, AsOf: asOf}, err
	})
}

func (a *App) snooze(tx *store.Tx, d decision.State, c decision.Snooze, by string) (decision.State, error) {
	events, _, err := decision.Decide(d, c, tx.Now())
	if err != nil || len(events) == 0 {
		return d, err
	}
	next := decision.ApplyAll(d, events, tx.Now())
	if next.Status != decision.Pending {
		return a.applyDecision(tx, d, events, actorServer) // its time was over
	}
	if err := tx.PutDecision(next); err != nil {
		return next, err
	}
	if err := tx.Audit(by, "decision.snoozed", d.ID, ""); err != nil || c.Until.IsZero() {
		return next, err
	}
	told, err := a.plan(tx, plan.DecisionSnoozed{Subject: decisionSubject(next), By: by, Round: next.Round})
	if err != nil {
		return next, err
	}
	return next, a.recount(tx, by, told)
}

// remindDecision calls the person again where time says so.
func (a *App) remindDecision(tx *store.Tx, d decision.State) (decision.State, error) {
	events, _, err := decision.Decide(d, decision.Remind{}, tx.Now())
	if err != nil || len(events) == 0 {
		return d, err
	}
	d = decision.ApplyAll(d, events, tx.Now())
	if err := tx.PutDecision(d); err != nil {
		return d, err
	}
	return d, a.callPerson(tx, d)
}
