package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// GetThreadResult is a thread with its newest tasks.
type GetThreadResult struct {
	Thread thread.State
	Tasks  []task.State
}

// GetThread reads a thread, for its person or an agent that worked in it; the
// agent sees its own tasks only. Error: store.ErrNotFound.
func (a *App) GetThread(ctx context.Context, p policy.Principal, id string) (GetThreadResult, error) {
	var result GetThreadResult
	err := a.viewThread(ctx, p, id, func(tx *store.Read, th thread.State) error {
		tasks, err := tx.TasksOf(id, 50)
		result.Thread = th
		for _, s := range tasks {
			if p.Person() || p.Works(s.Agent, s.ID) {
				result.Tasks = append(result.Tasks, s)
			}
		}
		return err
	})
	return result, err
}

// viewThread runs fn on a thread that the caller may see.
func (a *App) viewThread(ctx context.Context, p policy.Principal, id string, fn func(*store.Read, thread.State) error) error {
	account, err := ownAccount(p, store.KindThread, id)
	if err != nil {
		return err
	}
	return a.store.View(ctx, account, func(tx *store.Read) error {
		th, err := tx.Thread(id)
		if err != nil {
			return err
		}
		if p.Person() {
			return fn(tx, th)
		}
		if err := linked(tx, p.Agent, store.ScopeReadOwn); err != nil {
			return err
		}
		if p.Kind == policy.TaskToken {
			s, err := tx.Task(p.Task)
			if err != nil || s.Thread != id {
				return store.ErrNotFound
			}
		} else if err := worked(tx, p.Agent, id); err != nil {
			return err
		}
		return fn(tx, th)
	})
}
