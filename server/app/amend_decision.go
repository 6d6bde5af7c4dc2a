package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// AmendDecision adds words or evidence to an open question. Whoever saw the card
// before has to look again, and is called to. An amendment that changes nothing
// is one that was made already. By the asking agent, with or without the lease.
// Errors: ErrClosed, ErrUnknownArtifact, *decision.InvalidError, ErrScope, ErrKillSwitch,
// store.ErrNotFound.
func (a *App) AmendDecision(ctx context.Context, p policy.Principal, id string, more decision.Amendment) (decision.State, error) {
	account, err := accountOf(store.KindDecision, id)
	if err != nil {
		return decision.State{}, err
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
		if !d.Open(tx.Now()) {
			return ErrClosed
		}
		card, changed, err := d.AmendedBy(more)
		if err != nil || !changed {
			return err
		}
		for _, evidence := range more.Evidence {
			if err := hasEvidence(tx.Read, d.Task, evidence); err != nil {
				return err
			}
		}
		events, _, err := decision.Decide(d, decision.Amend{Card: card}, tx.Now())
		if err != nil {
			return err
		}
		d = decision.ApplyAll(d, events, tx.Now())
		if err := tx.Audit(p.ID(), "decision.amended", d.ID, d.Kind.String()); err != nil {
			return err
		}
		return a.showCard(tx, d)
	})
	return d, err
}
