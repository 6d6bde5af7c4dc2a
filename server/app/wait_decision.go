package app

import (
	"context"
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// WaitDecision waits until a question of the calling agent is closed; it is
// returned PENDING when the wait ended first. Error: store.ErrNotFound.
func (a *App) WaitDecision(ctx context.Context, p policy.Principal, id string, wait time.Duration) (decision.State, error) {
	account, err := accountOf(store.KindDecision, id)
	if err != nil {
		return decision.State{}, err
	}
	var d decision.State
	err = a.hub.Tail(ctx, min(wait, a.limits.DecisionWait), []string{"decision:" + id}, func() (bool, error) {
		d, err = a.readDecision(ctx, p, account, id)
		return d.Status != decision.Pending, err
	})
	return d, err
}

// GetDecision reads a question, for its person or the asking agent. Error:
// store.ErrNotFound.
func (a *App) GetDecision(ctx context.Context, p policy.Principal, id string) (decision.State, error) {
	account, err := ownAccount(p, store.KindDecision, id)
	if err != nil {
		return decision.State{}, err
	}
	return a.readDecision(ctx, p, account, id)
}

func (a *App) readDecision(ctx context.Context, p policy.Principal, account, id string) (decision.State, error) {
	var d decision.State
	err := a.store.View(ctx, account, func(tx *store.Read) error {
		var err error
		if d, err = tx.Decision(id); err != nil {
			return err
		}
		_, err = readTask(tx, p, d.Task)
		return err
	})
	return d, err
}

func itemField(i int, name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
