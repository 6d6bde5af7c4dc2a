package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// StopTask asks a task to end.
type StopTask struct {
	Key    string
	Task   string
	Reason string
}

// StopOutcome is what a stop met, as on the wire.
type StopOutcome uint8

// Outcomes of a stop.
const (
	Stopped         StopOutcome = 1
	Stopping        StopOutcome = 2
	AlreadyFinished StopOutcome = 3
)

// StopResult is what happened.
type StopResult struct {
	Outcome StopOutcome
	Task    task.State
	AsOf    []byte
}

// StopTask ends a task at once when nobody holds its lease; else the worker is
// told, and the task ends at its yield, release or lease end. Errors:
// store.ErrNotFound, ErrKeyReused.
func (a *App) StopTask(ctx context.Context, p policy.Principal, c StopTask) (StopResult, error) {
	return commit(ctx, a, a.stopping(p, c))
}

func (a *App) stopping(p policy.Principal, c StopTask) change[StopResult] {
	account, err := ownAccount(p, store.KindTask, c.Task)
	return change[StopResult]{account: account, err: err, run: func(tx *store.Tx) (StopResult, error) {
		return once(a, tx, p, "StopTask", c.Key, c, func() (StopResult, error) { return a.stopTask(tx, p, c) })
	}}
}

func (a *App) stopTask(tx *store.Tx, p policy.Principal, c StopTask) (StopResult, error) {
	s, err := tx.Task(c.Task)
	if err != nil {
		return StopResult{}, err
	}
	result := StopResult{Outcome: AlreadyFinished, Task: s}
	if !s.Phase.Terminal() {
		if s, err = a.stepTask(tx, s, task.Stop{By: p.ID(), Reason: c.Reason}); err != nil {
			return result, err
		}
		if err := tx.Audit(p.ID(), "task.stop", s.ID, ""); err != nil {
			return result, err
		}
		result.Outcome, result.Task = Stopped, s
		if !s.Phase.Terminal() {
			result.Outcome = Stopping
		}
	}
	result.AsOf, err = a.asOf(tx)
	return result, err
}
