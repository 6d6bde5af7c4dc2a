package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// PauseTask keeps a task from being worked on.
type PauseTask struct {
	Key    string
	Task   string
	Reason string
}

// HeldResult is a task after somebody changed what holds it.
type HeldResult struct {
	Task task.State
	AsOf []byte
}

// PauseTask holds a task until ResumeTask. A worker that has it is told by its
// heartbeat. Errors: store.ErrNotFound, ErrKeyReused.
func (a *App) PauseTask(ctx context.Context, p policy.Principal, c PauseTask) (HeldResult, error) {
	return commit(ctx, a, a.pausing(p, c))
}

func (a *App) pausing(p policy.Principal, c PauseTask) change[HeldResult] {
	return a.holding(p, "PauseTask", c.Key, c.Task, c, task.Pause{By: p.ID(), Reason: c.Reason})
}

// holding is a person's command on what holds a task.
func (a *App) holding(p policy.Principal, verb, key, id string, body any, c task.Command) change[HeldResult] {
	account, err := ownAccount(p, store.KindTask, id)
	return change[HeldResult]{account: account, err: err, run: func(tx *store.Tx) (HeldResult, error) {
		return once(a, tx, p, verb, key, body, func() (HeldResult, error) { return a.holdTask(tx, p, id, c) })
	}}
}

func (a *App) holdTask(tx *store.Tx, p policy.Principal, id string, c task.Command) (HeldResult, error) {
	s, err := tx.Task(id)
	if err != nil {
		return HeldResult{}, err
	}
	next, err := a.stepTask(tx, s, c)
	if err != nil {
		return HeldResult{}, err
	}
	if next.Hold != s.Hold || next.Below != s.Below {
		action := "task.resumed"
		if _, paused := c.(task.Pause); paused {
			action = "task.paused"
		}
		if err := tx.Audit(p.ID(), action, id, ""); err != nil {
			return HeldResult{}, err
		}
	}
	asOf, err := a.asOf(tx)
	return HeldResult{Task: next, AsOf: asOf}, err
}
