package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// UpdateProgress replaces a task's progress line.
type UpdateProgress struct {
	Held
	Progress task.Progress
}

// UpdateProgress is never pushed, and reaches clients at most every two
// seconds. Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) UpdateProgress(ctx context.Context, p policy.Principal, c UpdateProgress) error {
	return a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		c.Progress.Time = tx.Now()
		_, err := a.stepTask(tx, s, task.UpdateProgress{Lease: lease, Progress: c.Progress})
		return err
	})
}
