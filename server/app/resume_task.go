package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/task"
)

// ResumeTask lifts a pause.
type ResumeTask struct {
	Key  string
	Task string
}

// ResumeTask lifts a pause and tells the task, which goes on where it stands by
// now. A review or a stop is not lifted by it. Errors: store.ErrNotFound,
// ErrKeyReused.
func (a *App) ResumeTask(ctx context.Context, p policy.Principal, c ResumeTask) (HeldResult, error) {
	return commit(ctx, a, a.resuming(p, c))
}

func (a *App) resuming(p policy.Principal, c ResumeTask) change[HeldResult] {
	return a.holding(p, "ResumeTask", c.Key, c.Task, c, task.Resume{})
}
