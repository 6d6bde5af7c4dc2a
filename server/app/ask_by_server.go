package app

import (
	"slices"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// askByServer opens a question of the server about a task. The card has a kind,
// a title, a reason, one item, and what it is about; an id if it was drawn
// before.
func (a *App) askByServer(tx *store.Tx, s task.State, card decision.State) (decision.State, error) {
	d, err := withDigests(decision.AskByServer(card, tx.Now()))
	if err != nil {
		return d, err
	}
	return a.openDecision(tx, actorServer, s, d)
}

// amendByServer changes an open question of the server: whoever saw the old
// card has to look again, and is called to.
func (a *App) amendByServer(tx *store.Tx, d, card decision.State) error {
	card.Kind = d.Kind
	card, err := withDigests(decision.AskByServer(card, tx.Now()))
	if err != nil {
		return err
	}
	events, _, err := decision.Decide(d, decision.Amend{Card: card}, tx.Now())
	if err != nil || len(events) == 0 {
		return err
	}
	d = decision.ApplyAll(d, events, tx.Now())
	if err := tx.Audit(actorServer, "decision.amended", d.ID, d.Kind.String()); err != nil {
		return err
	}
	return a.showCard(tx, d)
}

// settle does what the end of a question of the server stands for.
func (a *App) settle(tx *store.Tx, d decision.State) error {
	switch d.Kind {
	case decision.ReviewResult:
		return a.settleReview(tx, d)
	case decision.ResolveUncertain:
		return a.settleUncertain(tx, d)
	case decision.Stalled:
		return a.settleStalled(tx, d)
	case decision.AfterRestore:
		return a.settleAfterRestore(tx, d)
	default:
		return nil
	}
}

// taskOver is what the end of its task means for an open question of the
// server. One that has nothing left to settle closes; the others stay. What is
// uncertain changes with its effect.
func (a *App) taskOver(tx *store.Tx, d decision.State) error {
	switch d.Kind {
	case decision.ReviewResult:
		_, err := a.stepDecision(tx, d, decision.Close{To: decision.Canceled, Reason: "The task has ended."}, actorServer)
		return err
	default:
		return nil
	}
}

// ownQuestions are the open decisions that a task's agent asked.
func ownQuestions(tx *store.Read, id string) ([]decision.State, error) {
	open, err := tx.OpenDecisions(id)
	return slices.DeleteFunc(open, func(d decision.State) bool { return d.Kind.OfServer() }), err
}
