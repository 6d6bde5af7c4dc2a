package app

import (
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/off"
)

// plan writes what a change calls for into the outbox, in the transaction of
// the change. Rows of a subject that was handled are not hunted down here: the
// re-read right before the send ends them.
func (a *App) plan(tx *store.Tx, change plan.Change) error {
	addresses, err := tx.Addresses()
	if err != nil {
		return err
	}
	planned := plan.Plan(plan.Account{ID: tx.Account(), Route: tx.Account()}, change, addresses, tx.Now())
	if off.Rule("R21") {
		return nil
	}
	for _, d := range planned.Deliveries {
		if err := tx.PutDelivery(d); err != nil {
			return err
		}
	}
	if planned.Intent == nil {
		return nil
	}
	return tx.Audit(actorServer, "alert.planned", planned.Intent.Key(), string(planned.Intent.Kind))
}

// subjectOf names the end of a task; it happens once, so its version is 1.
func subjectOf(thread, task string) push.Subject {
	return push.Subject{Thread: thread, Task: task, Version: 1}
}

// decisionSubject names a question as it stands.
func decisionSubject(d decision.State) push.Subject {
	return push.Subject{Thread: d.Thread, Task: d.Task, Decision: d.ID, Version: d.Revision}
}
