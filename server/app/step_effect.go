package app

import (
	"fmt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/effect"
)

// stepEffect carries out one command on an effect with everything that follows
// from it in the same transaction. by is who does it, for the audit.
func (a *App) stepEffect(tx *store.Tx, e effect.State, c effect.Command, by string) (effect.State, effect.Outcome, error) {
	events, outcome, err := effect.Decide(e, c, tx.Now())
	if err != nil || len(events) == 0 {
		return e, outcome, err
	}
	next := effect.ApplyAll(e, events, tx.Now())
	if err := tx.PutEffect(next); err != nil {
		return e, outcome, err
	}
	for _, event := range events {
		if err := auditEffect(tx, by, next, event); err != nil {
			return e, outcome, err
		}
	}
	switch {
	case next.Status == effect.Uncertain && e.Status != effect.Uncertain:
		next, err = a.askWhether(tx, next)
	case e.Status == effect.Uncertain && next.Status != effect.Uncertain:
		err = a.noLongerUncertain(tx, next)
	case next.Status == effect.Uncertain && (next.TaskEnded != e.TaskEnded || next.Generation != e.Generation):
		// "Do it" goes from the card with the task; after a restore it is about
		// another generation.
		err = a.askWhetherAgain(tx, next)
	}
	return next, outcome, err
}

// auditEffect writes each fact of an effect apart: begun, confirmed, failed,
// uncertain, settled by a person, evidence.
func auditEffect(tx *store.Tx, by string, e effect.State, event effect.Event) error {
	generation := fmt.Sprint("generation ", e.Generation)
	switch event := event.(type) {
	case effect.Went:
		return tx.Audit(by, "effect.begun", e.ID, generation)
	case effect.Doubted, effect.LeftUncertain, effect.Reopened:
		return tx.Audit(actorServer, "effect.uncertain", e.ID, generation)
	case effect.SettledAs:
		return tx.Audit(by, "effect.settled", e.ID, event.To.String()+" "+generation)
	case effect.ResolvedAs:
		return tx.Audit(by, "effect.settled", e.ID, event.Exit.String()+" "+generation)
	case effect.Noted:
		return tx.Audit(by, "effect.evidence", e.ID, fmt.Sprint("generation ", event.Note.Generation))
	default:
		return nil
	}
}
