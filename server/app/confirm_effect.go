package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// ConfirmEffect says how a generation went.
type ConfirmEffect struct {
	Effect     string
	Generation uint32
	// OK: it was done. Otherwise it definitely was not.
	OK      bool
	Receipt string
	// Lease is empty where the caller holds none any more.
	Lease string
}

// ConfirmEffect settles an effect that nobody has confirmed, whether or not the
// caller still holds the task: it is fenced by generation (R15), and the truth is
// heard while the task is held, after it has ended, and while every agent is
// stopped. What is said of an older generation or of a settled effect is kept as
// evidence. Errors: effect.ErrGeneration, ErrScope, ErrRevoked, store.ErrNotFound.
func (a *App) ConfirmEffect(ctx context.Context, p policy.Principal, c ConfirmEffect) (effect.State, error) {
	return a.tellEffect(ctx, p, c.Effect, "effect.confirmed", func(s task.State) effect.Command {
		lease := c.Lease
		if p.Kind == policy.TaskToken {
			lease = p.Lease
		}
		return effect.Confirm{
			Generation: c.Generation, OK: c.OK, Receipt: c.Receipt,
			Holder: lease != "" && s.Phase == task.Running && s.Lease.ID == lease,
		}
	})
}

// tellEffect hands what an agent knows about an effect to its life cycle.
func (a *App) tellEffect(ctx context.Context, p policy.Principal, id, point string, command func(task.State) effect.Command) (effect.State, error) {
	account, err := accountOf(store.KindEffect, id)
	if err != nil {
		return effect.State{}, err
	}
	var e effect.State
	err = a.updateAt(ctx, account, point, func(tx *store.Tx) error {
		if e, err = tx.Effect(id); err != nil {
			return err
		}
		s, err := workTask(tx.Read, p, e.Task, store.ScopeEffectWrite)
		if err != nil {
			return err
		}
		e, _, err = a.stepEffect(tx, e, command(s), p.ID())
		return err
	})
	return e, err
}
