package app

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/off"
)

// plan writes what a change calls for into the outbox, in the transaction of
// the change, and ends the rows of a subject that was handled. Those in a
// worker's hands are ended by its re-read right before the send.
//
// told are the addresses that hear of it, with the badge of the moment.
func (a *App) plan(tx *store.Tx, change plan.Change) (told map[string]bool, err error) {
	addresses, err := tx.Addresses()
	if err != nil {
		return nil, err
	}
	planned := plan.Plan(accountOfTx(tx), change, addresses, tx.Now())
	if off.Rule("R21") {
		return nil, nil
	}
	back, err := a.close(tx, change, planned.Handled, addresses)
	if err != nil {
		return nil, err
	}
	told = map[string]bool{}
	for _, d := range slices.Concat(back, planned.Deliveries) {
		if err := tx.PutDelivery(d); err != nil {
			return nil, err
		}
		told[d.Address] = true
	}
	if err := a.sweepUp(tx, back, addresses); err != nil || planned.Intent == nil {
		return told, err
	}
	return told, tx.Audit(actorServer, "alert.planned", planned.Intent.Key(), string(planned.Intent.Kind))
}

// close ends what waits to be said about a subject that was handled or has a
// newer version, and returns the rows that take back what was said.
func (a *App) close(tx *store.Tx, change plan.Change, subject string, addresses []push.Address) ([]push.Delivery, error) {
	if subject == "" {
		return nil, nil
	}
	rows, err := tx.DeliveriesAbout(subject)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		next, events, err := outbox.Step(d, ending(change, d, tx.Now()), tx.Now())
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			continue
		}
		if err := tx.UpdateDelivery(next); err != nil {
			return nil, err
		}
	}
	if err := auditAlerts(tx, change, subject); err != nil {
		return nil, err
	}
	return plan.Withdrawals(accountOfTx(tx), change, rows, addresses, tx.Now()), nil
}

// auditAlerts sums up, when its subject closes, what became of the calls to look
// at it, device by device; the rows have the rest.
func auditAlerts(tx *store.Tx, change plan.Change, subject string) error {
	switch change.(type) {
	case plan.DecisionOpened, plan.DecisionSnoozed:
		return nil // which does not close it
	}
	rows, err := tx.DeliveriesAbout(subject)
	if err != nil {
		return err
	}
	detail := map[string]string{}
	for _, d := range rows {
		if d.Kind != push.DecisionRequired && d.Kind != push.ResultReady {
			continue
		}
		word := string(d.State)
		if d.Reason != "" {
			word += " " + d.Reason
		}
		detail[d.Address] = word
	}
	if len(detail) == 0 {
		return nil
	}
	return tx.AuditWith(actorServer, "alert.summary", subject, "", detail)
}

// ending is how a row that was not sent ends with its subject.
func ending(change plan.Change, d push.Delivery, now time.Time) outbox.Command {
	if _, revised := change.(plan.DecisionOpened); revised {
		return outbox.Supersede{Reason: outbox.ReasonNewerVersion}
	}
	if !d.ExpiresAt.After(now) {
		return outbox.Expire{}
	}
	return outbox.Supersede{Reason: outbox.ReasonHandled}
}

// subjectOf names the end of a task; it happens once, so its version is 1.
func subjectOf(thread, task string) push.Subject {
	return push.Subject{Thread: thread, Task: task, Version: 1}
}

// decisionSubject names a question as it stands.
func decisionSubject(d decision.State) push.Subject {
	return push.Subject{Thread: d.Thread, Task: d.Task, Decision: d.ID, Version: d.Revision}
}
