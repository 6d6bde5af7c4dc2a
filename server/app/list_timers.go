package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// ListTimers reads the timers of a task by their keys, for its person or its
// agent. Errors: store.ErrNotFound.
func (a *App) ListTimers(ctx context.Context, p policy.Principal, id string) ([]task.Timer, error) {
	account, err := ownAccount(p, store.KindTask, id)
	if err != nil {
		return nil, err
	}
	var timers []task.Timer
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		if _, err := readTask(tx, p, id); err != nil {
			return err
		}
		timers, err = tx.Timers(id)
		return err
	})
	return timers, err
}
