package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// Held names a task and the lease a worker's call is under.
type Held struct {
	Task  string
	Lease string
}

// work runs fn on a task for the worker that calls, in one transaction. Which
// lease is good is judged by the life cycle. What a worker says ends its silence. It refuses while every agent of
// the account is stopped.
func (a *App) work(ctx context.Context, p policy.Principal, h Held, fn func(tx *store.Tx, s task.State, lease string) error) error {
	return a.workStopped(ctx, p, h, func(tx *store.Tx, s task.State, lease string) error {
		if err := mayAct(tx.Read, p); err != nil {
			return err
		}
		s, err := speak(tx, s, lease)
		if err != nil {
			return err
		}
		return fn(tx, s, lease)
	})
}

// workStopped is work for what a worker may do after a stop: to hear of it, and
// to give the task back or end it.
func (a *App) workStopped(ctx context.Context, p policy.Principal, h Held, fn func(tx *store.Tx, s task.State, lease string) error) error {
	account, err := accountOf(store.KindTask, h.Task)
	if err != nil {
		return err
	}
	lease, err := leaseFor(p, h.Lease)
	if err != nil {
		return err
	}
	return a.update(ctx, account, func(tx *store.Tx) error {
		s, err := workTask(tx.Read, p, h.Task, store.ScopeTaskWork)
		if err != nil {
			return err
		}
		return fn(tx, s, lease)
	})
}
