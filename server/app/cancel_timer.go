package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// CancelTimer takes a timer away.
type CancelTimer struct {
	Held
	Key string
}

// CancelTimer takes a timer away, fired or not; a signal that it sent before
// stays. One that is not there is gone already. A task that waited for it alone
// wakes by nothing but a message, so the wait that names it must be given anew:
// its holder is awake. Errors: task.ErrLeaseLost, ErrKillSwitch,
// store.ErrNotFound.
func (a *App) CancelTimer(ctx context.Context, p policy.Principal, c CancelTimer) error {
	return a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		if !leased(s, lease) {
			return task.ErrLeaseLost
		}
		return tx.DeleteTimer(s.ID, c.Key)
	})
}
