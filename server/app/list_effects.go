package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/effect"
)

// ListEffects reads a page of the effects of a task.
type ListEffects struct {
	Task string
	// Limit is 20 where it is 0.
	Limit int
	// Before is the last effect of the page before, empty for the first.
	Before string
}

// ListEffects reads the effects of a task, newest first, without their
// arguments. Error: store.ErrNotFound.
func (a *App) ListEffects(ctx context.Context, p policy.Principal, c ListEffects) ([]effect.State, error) {
	account, err := ownAccount(p, store.KindTask, c.Task)
	if err != nil {
		return nil, err
	}
	if c.Limit == 0 {
		c.Limit = 20
	}
	var list []effect.State
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		if _, err := readTask(tx, p, c.Task); err != nil {
			return err
		}
		list, err = tx.EffectsOf(c.Task, c.Before, c.Limit)
		return err
	})
	for i := range list {
		list[i].Action.ArgsJSON = nil
	}
	return list, err
}
