package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// FailTask ends a task without a result.
type FailTask struct {
	Held
	Failure task.Failure
}

// FailTask ends the task with a reason the person can read. A repeat under the
// same lease with the same failure is answered alike. Errors: *FieldError for
// the server's own code, task.ErrLeaseLost, store.ErrNotFound.
func (a *App) FailTask(ctx context.Context, p policy.Principal, c FailTask) (task.State, error) {
	if c.Failure.Code == task.CouldNotResume {
		return task.State{}, &FieldError{Field: "failure.code", Reason: "RESERVED"}
	}
	var ended task.State
	err := a.workStopped(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		var err error
		ended, err = a.stepTask(tx, s, task.Fail{Lease: lease, Failure: c.Failure})
		return err
	})
	return ended, err
}
