package plan

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// WithdrawTTL is how long taking an alert back is worth delivering. A phone that
// was off for longer learns it by sync, as does one that never asks again.
const WithdrawTTL = 24 * time.Hour

// Closing is how the subject of a withdrawn alert ended.
type Closing string

// Ways to end. Gone is everything nobody decided: taken back by the agent, ended
// with its task, replaced.
const (
	Handled  Closing = "handled"
	TimedOut Closing = "timed_out"
	Gone     Closing = "gone"
	// Snoozed has not ended: it was put aside, and calls again.
	Snoozed Closing = "snoozed"
)

// snoozeRound marks the taking back of what was put aside.
const snoozeRound = 1 << 31

// title is all that is left on the screen. It says nothing of the subject, so it
// is fit for every level.
func (c Closing) title() string {
	switch c {
	case TimedOut:
		return "Expired: nothing was run"
	case Snoozed:
		return "Put aside on another device"
	case Gone:
		return "No longer needed"
	default:
		return "Handled on another device"
	}
}

// testTitle is what a test push shows.
const testTitle = "Beckon can reach this device"

// Withdrawals has one row for each address where an alert about the closed
// subject is, or may be about to be, on the screen. rows are those of the
// subject as they stand before the change. The device that closed it has dealt
// with its own screen.
func Withdrawals(account Account, change Change, rows []push.Delivery, addresses []push.Address, now time.Time) []push.Delivery {
	var subject push.Subject
	var by string
	var n uint32
	switch c := change.(type) {
	case DecisionClosed:
		subject, by, n = c.Subject, c.By, c.Round
	case DecisionSnoozed:
		// Named apart from the taking back at its end.
		subject, by, n = c.Subject, c.By, c.Round|snoozeRound
	case ResultRead:
		subject, by = c.Subject, c.By
		subject.Decision = ""
	default:
		return nil
	}
	shown := map[string]bool{}
	for _, d := range rows {
		if d.Kind != push.Withdraw && (d.State == push.Accepted || d.State == push.Leased || d.MaybeSent) {
			shown[d.Address] = true
		}
	}
	intent := push.Intent{
		ID:   push.IntentID(account.Route, push.Withdraw, round(subject, n), subject.Version),
		Kind: push.Withdraw, Subject: subject, CreatedAt: now, ExpiresAt: now.Add(WithdrawTTL),
	}
	var out []push.Delivery
	for _, a := range addresses {
		if shown[a.ID] && a.State != push.AddressDead && (by == "" || a.Installation != by) {
			out = append(out, row(account, intent, a))
		}
	}
	return out
}
