package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/effect"
)

// GetEffect reads one effect. Error: store.ErrNotFound.
func (a *App) GetEffect(ctx context.Context, p policy.Principal, id string) (effect.State, error) {
	account, err := ownAccount(p, store.KindEffect, id)
	if err != nil {
		return effect.State{}, err
	}
	var e effect.State
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		if e, err = tx.Effect(id); err != nil {
			return err
		}
		_, err = readTask(tx, p, e.Task)
		return err
	})
	return e, err
}
