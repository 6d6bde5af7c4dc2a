package plan

import (
	"strconv"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// How long a push is worth delivering. Apple stores a notification for at most
// 30 days ("Sending notification requests to APNs": apns-expiration), so a
// decision without a deadline gets that.
const (
	DecisionTTL = 30 * 24 * time.Hour
	ResultTTL   = 24 * time.Hour
)

// Change is a cause that may call a person.
type Change interface{ change() }

// DecisionOpened says that a decision, or a new revision of it, became pending.
type DecisionOpened struct {
	push.Subject
	// Deadline is zero where it has none.
	Deadline time.Time
	// Round counts the calls about one revision: a reminder is another call that
	// takes the place of the one before.
	Round uint32
	// ByPolicy: policy settled it in the same step, so nobody is asked.
	ByPolicy bool
	// Grace is how long the alert waits on a device that shows the thread, as
	// Shows tells by installation. It delays and never silences (R22). Nil is a
	// person who looks at nothing.
	Grace time.Duration
	Shows func(installation string) bool
}

// MaxGrace is the longest an alert may wait for a person who is looking.
const MaxGrace = 2 * time.Minute

// hold lets the alerts on the devices in use wait, at most half of the time
// there is to answer.
func (c DecisionOpened) hold(rows []push.Delivery, addresses []push.Address, now time.Time) {
	if c.Shows == nil || c.Grace <= 0 {
		return
	}
	shown := map[string]bool{}
	for _, a := range addresses {
		shown[a.ID] = c.Shows(a.Installation)
	}
	for i, d := range rows {
		if d.State != push.Pending || !shown[d.Address] {
			continue
		}
		rows[i].HeldUntil = now.Add(min(c.Grace, MaxGrace, d.ExpiresAt.Sub(now)/2)).Truncate(time.Microsecond)
		rows[i].DueAt, rows[i].Reason = rows[i].HeldUntil, reasonInHand
	}
}

// reasonInHand is why a row waits whose device shows the thread.
const reasonInHand = "in_hand"

// DecisionClosed says that a decision is not pending any more, however it ended.
type DecisionClosed struct {
	push.Subject
	// By is the installation that answered; empty where none did.
	By string
	// Round is that of the last call.
	Round uint32
}

// DecisionSnoozed says that the person has put a question aside: it is off every
// screen until it calls again.
type DecisionSnoozed struct {
	push.Subject
	// By is the installation it was put aside on.
	By string
	// Round is the next call's.
	Round uint32
}

// ResultRead says that a person has read how a task ended.
type ResultRead struct {
	push.Subject
	// By is the installation it was read on.
	By string
}

// Outcome is how a task ended.
type Outcome string

// Outcomes of a task. Stopped stands for every end that a person brought about.
const (
	Completed      Outcome = "completed"
	Failed         Outcome = "failed"
	CouldNotResume Outcome = "could_not_resume"
	Expired        Outcome = "expired"
	Stopped        Outcome = "stopped"
)

// TaskEnded says that a task is terminal.
type TaskEnded struct {
	push.Subject
	Outcome Outcome
	// HasResult: there is something to read.
	HasResult bool
	// Answered: a question of this task was answered by the person.
	Answered bool
}

func (DecisionOpened) change()  {}
func (DecisionClosed) change()  {}
func (DecisionSnoozed) change() {}
func (ResultRead) change()      {}
func (TaskEnded) change()       {}

// Account is whose devices are called.
type Account struct {
	ID string
	// Route is the account's routing key, part of every id.
	Route string
}

// Planned is what a change calls for. All of it is written in the transaction
// of the change.
type Planned struct {
	// Intent is nil when nobody is to be called.
	Intent *push.Intent
	// Deliveries has one row per address that could be called, in the order of
	// the addresses. An intent may have none: the account has no device.
	Deliveries []push.Delivery
	// Handled is the subject key whose waiting rows are superseded; empty for
	// none. Rows in a worker's hands are caught by its re-read.
	Handled string
}

// Plan turns one change into an intent and its rows.
func Plan(account Account, change Change, addresses []push.Address, now time.Time) Planned {
	switch c := change.(type) {
	case DecisionOpened:
		expires := now.Add(DecisionTTL)
		if !c.Deadline.IsZero() && c.Deadline.Before(expires) {
			expires = c.Deadline
		}
		if c.ByPolicy || !expires.After(now) {
			return Planned{}
		}
		p := call(account, push.DecisionRequired, c.Subject, round(c.Subject, c.Round), addresses, now, expires)
		c.hold(p.Deliveries, addresses, now)
		if p.Handled = olderVersions(c.Subject); c.Round > 0 {
			p.Handled = c.Key()
		}
		return p
	case DecisionSnoozed:
		return Planned{Handled: c.Key()}
	case DecisionClosed:
		return Planned{Handled: c.Key()}
	case ResultRead:
		c.Decision = ""
		return Planned{Handled: c.Key()}
	case TaskEnded:
		if !rings(c) {
			return Planned{}
		}
		c.Decision = ""
		return call(account, push.ResultReady, c.Subject, c.Key(), addresses, now, now.Add(ResultTTL))
	default:
		return Planned{}
	}
}

// rings is R20 for the end of a task: bad news always, good news unless there
// is nothing to read and the person has just dealt with the task.
func rings(c TaskEnded) bool {
	switch c.Outcome {
	case Failed, CouldNotResume, Expired:
		return true
	case Completed:
		return c.HasResult || !c.Answered
	default:
		return false
	}
}

// olderVersions names the rows a new revision replaces; a first one has none.
func olderVersions(s push.Subject) string {
	if s.Version > 1 {
		return s.Key()
	}
	return ""
}

// round names one call about a subject: the first as the subject, each further
// one by its number.
func round(s push.Subject, n uint32) string {
	if n == 0 {
		return s.Key()
	}
	return s.Key() + "#" + strconv.FormatUint(uint64(n), 10)
}

func call(account Account, kind push.Kind, subject push.Subject, name string, addresses []push.Address, now, expires time.Time) Planned {
	intent := push.Intent{
		ID:        push.IntentID(account.Route, kind, name, subject.Version),
		Kind:      kind,
		Subject:   subject,
		CreatedAt: now,
		ExpiresAt: expires,
	}
	p := Planned{Intent: &intent}
	for _, a := range addresses {
		if a.State == push.AddressDead {
			continue
		}
		p.Deliveries = append(p.Deliveries, row(account, intent, a))
	}
	return p
}

// row plans one delivery. A device whose notifications are switched off gets a
// row that has ended, so that the silence can be explained.
func row(account Account, intent push.Intent, a push.Address) push.Delivery {
	id := push.DeliveryID(account.Route, intent.ID, a.ID)
	d := push.Delivery{
		ID:         id,
		Intent:     intent.ID,
		Kind:       intent.Kind,
		Subject:    intent.Subject,
		Account:    account.ID,
		Address:    a.ID,
		Generation: a.Generation,
		Lane:       a.Kind.Lane(),
		State:      push.Pending,
		DueAt:      intent.CreatedAt,
		CreatedAt:  intent.CreatedAt,
		ExpiresAt:  intent.ExpiresAt,
		CollapseID: push.CollapseID(intent.Key()),
		ProviderID: push.ProviderID(id),
	}
	if a.State == push.AddressDenied {
		d.State, d.Reason = push.Suppressed, "notifications_denied"
	}
	return d
}
