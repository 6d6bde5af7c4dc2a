package app

import (
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// stepDecision carries out one command on a decision, other than an answer,
// with everything that follows from it in the same transaction. by is who does
// it, for the audit.
func (a *App) stepDecision(tx *store.Tx, d decision.State, c decision.Command, by string) (decision.State, error) {
	events, _, err := decision.Decide(d, c, tx.Now())
	if err != nil || len(events) == 0 {
		return d, err
	}
	return a.applyDecision(tx, d, events, by)
}

// applyDecision stores what events make of a decision. A decision that was
// closed tells its task, and calls nobody any more.
func (a *App) applyDecision(tx *store.Tx, d decision.State, events []decision.Event, actor string) (decision.State, error) {
	was := d.Status
	d = decision.ApplyAll(d, events, tx.Now())
	if err := tx.PutDecision(d); err != nil {
		return d, err
	}
	if was != decision.Pending || d.Status == decision.Pending {
		return d, auditLater(tx, d, events, actor)
	}
	if err := auditClosed(tx, d, actor); err != nil {
		return d, err
	}
	told, err := a.plan(tx, plan.DecisionClosed{Subject: decisionSubject(d), By: answeredOn(d), Round: d.Round})
	if err != nil {
		return d, err
	}
	if err := a.recount(tx, answeredOn(d), told); err != nil {
		return d, err
	}
	if d.Kind.OfServer() {
		return d, a.settle(tx, d)
	}
	return d, a.tellTask(tx, d)
}

// answeredOn is the device whose answer counts, empty where none does.
func answeredOn(d decision.State) string {
	if d.Answer == nil {
		return ""
	}
	return d.Answer.Installation
}

// tellTask signals that a decision was closed.
func (a *App) tellTask(tx *store.Tx, d decision.State) error {
	s, err := tx.Task(d.Task)
	if err != nil {
		return err
	}
	if d.Status == decision.Resolved {
		s.Answered = true
	}
	if d.WasEdited() {
		// What the person writes themselves opens what was denied.
		if err := tx.ClearDenied(s.ID); err != nil {
			return err
		}
	}
	for _, digest := range d.Denied() {
		if err := tx.PutDenied(s.ID, digest); err != nil {
			return err
		}
	}
	if s, err = a.signal(tx, s, task.Signal{Kind: task.DecisionClosed, Decision: d.ID}); err != nil {
		return err
	}
	if d.Status == decision.Expired && d.OnExpiry == decision.StopTask {
		_, err = a.stepTask(tx, s, task.Stop{By: actorServer, Reason: "A question was not answered in time."})
	}
	return err
}
