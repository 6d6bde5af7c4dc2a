package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// GetTaskResult is a task with its newest questions.
type GetTaskResult struct {
	Task      task.State
	Decisions []decision.State
}

// GetTask reads one task, for its person or its agent. Error:
// store.ErrNotFound.
func (a *App) GetTask(ctx context.Context, p policy.Principal, id string) (GetTaskResult, error) {
	account, err := ownAccount(p, store.KindTask, id)
	if err != nil {
		return GetTaskResult{}, err
	}
	var result GetTaskResult
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		if result.Task, err = readTask(tx, p, id); err != nil {
			return err
		}
		result.Decisions, err = tx.DecisionsOf(id, 20)
		return err
	})
	return result, err
}
