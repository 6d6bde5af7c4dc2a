package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// WithdrawReason says why a question is taken back, as on the wire.
type WithdrawReason uint8

// Reasons.
const (
	AnsweredElsewhere WithdrawReason = 1
	Obsolete          WithdrawReason = 2
)

// WithdrawDecision takes a question back. One that was closed otherwise before
// stays as it is. By the asking agent, with or without the lease: the question
// outlives it. Errors: store.ErrNotFound, ErrScope, ErrKillSwitch.
func (a *App) WithdrawDecision(ctx context.Context, p policy.Principal, id string, why WithdrawReason) (decision.State, error) {
	account, err := accountOf(store.KindDecision, id)
	if err != nil {
		return decision.State{}, err
	}
	reason := "The agent does not need an answer any more."
	if why == AnsweredElsewhere {
		reason = "Answered at the agent's own prompt."
	}
	var d decision.State
	err = a.update(ctx, account, func(tx *store.Tx) error {
		if d, err = tx.Decision(id); err != nil {
			return err
		}
		if d.Kind.OfServer() {
			return store.ErrNotFound
		}
		if _, err := workTask(tx.Read, p, d.Task, store.ScopeDecisionRequest); err != nil {
			return err
		}
		if err := mayAct(tx.Read, p); err != nil {
			return err
		}
		d, err = a.stepDecision(tx, d, decision.Close{To: decision.Withdrawn, Reason: reason}, p.ID())
		return err
	})
	return d, err
}
