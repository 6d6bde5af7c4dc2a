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
// returned PENDING when the wait ended first. While every agent of the account
// is stopped it learns no answer. Errors: store.ErrNotFound, ErrKillSwitch.
func (a *App) WaitDecision(ctx context.Context, p policy.Principal, id string, wait time.Duration) (decision.State, error) {
	account, err := accountOf(store.KindDecision, id)
	if err != nil {
		return decision.State{}, err
	}
	var d decision.State
	err = a.hub.Tail(ctx, min(wait, a.limits.DecisionWait), []string{"decision:" + id, killSwitchTopic(account)}, func() (bool, error) {
		d, err = a.readDecision(ctx, p, account, id)
		return d.Status != decision.Pending, err
	})
	return d, err
}

// GetDecision reads a question, for its person or the asking agent. Errors:
// store.ErrNotFound, ErrKillSwitch for the agent.
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
		if _, err = readTask(tx, p, d.Task); err != nil {
			return err
		}
		// A program would act on the answer, which no switch could stop.
		return mayAct(tx, p)
	})
	return d, err
}

func itemField(i int, name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
