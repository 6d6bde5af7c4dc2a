package outbox

import (
	"errors"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Errors of Decide. None of them changes the row.
var (
	// ErrFinal: the row has ended; a claim of it is pointless.
	ErrFinal = errors.New("outbox: delivery has ended")
	// ErrNotDue: the row waits for a later time.
	ErrNotDue = errors.New("outbox: delivery is not due")
	// ErrLeased: another worker holds the row.
	ErrLeased = errors.New("outbox: delivery is leased")
	// ErrLeaseLost: the caller's lease is not the row's.
	ErrLeaseLost = errors.New("outbox: lease lost")
	// ErrNotSuppressible: a decision is never suppressed.
	ErrNotSuppressible = errors.New("outbox: decisions are not suppressed")
)

// Reasons of ours; all others are the vendor's words.
const (
	ReasonDeadline     = "deadline"
	ReasonHandled      = "handled"
	ReasonNewerVersion = "newer_version"
	ReasonMoved        = "moved"
	ReasonAddressGone  = "address_gone"
	ReasonAddressDead  = "address_dead"
	ReasonDenied       = "notifications_denied"
	ReasonRenewed      = "address_renewed"
	// ReasonPresence: the device shows the thread, so its person sees the
	// question without being called.
	ReasonPresence = "in_hand"
	// ReasonCardOpen: the device has said that it shows the card itself.
	ReasonCardOpen = "card_open"
	// Reasons of a withdrawal: its alert is still with a worker, never reached
	// the vendor, or is wanted after all.
	ReasonAlertOpen = "alert_open"
	ReasonNotShown  = "not_shown"
	ReasonOpenAgain = "open_again"
	// ReasonRestored: the server was restored from a backup, and may have sent it
	// since that was taken.
	ReasonRestored = "restored"
	// ReasonRate: the device has had its sweeps of this hour.
	ReasonRate = "rate"
	// ReasonAppCounts: the number is 0, which only the app may set.
	ReasonAppCounts = "app_counts"
	// ReasonOnce: what is not sent twice may have been sent.
	ReasonOnce = "sent_at_most_once"
	// Reasons a worker gives a row back unsent.
	ReasonStopping   = "stopping"
	ReasonPaused     = "lane_paused"
	ReasonReadFailed = "read_failed"
	ReasonLeaseShort = "lease_too_short"
	// ReasonManyRefused: the vendor refuses so many addresses that it must be our
	// configuration; see Suspicion.
	ReasonManyRefused = "many_refused"
)

// Decide judges cmd on d at now. Closing a row that has already ended, or
// that a worker holds, is no error and yields no event.
func Decide(d push.Delivery, cmd Command, now time.Time) ([]Event, error) {
	switch c := cmd.(type) {
	case Claim:
		return decideClaim(d, c, now)
	case Settle:
		if !held(d, c.Lease) {
			return nil, ErrLeaseLost
		}
		return decideSettle(d, c, now), nil
	case Skip:
		if !held(d, c.Lease) {
			return nil, ErrLeaseLost
		}
		return []Event{Ended{At: now, State: c.Why.State, Reason: c.Why.Reason}}, nil
	case Release:
		if !held(d, c.Lease) {
			return nil, ErrLeaseLost
		}
		return []Event{Returned{At: c.At, Reason: c.Reason}}, nil
	case Reap:
		if d.State != push.Leased || (!c.Orphaned && d.LeaseUntil.After(now)) {
			return nil, nil
		}
		return leaseLost(d, now), nil
	case Supersede:
		return closeWaiting(d, push.Superseded, c.Reason, now), nil
	case Expire:
		return closeWaiting(d, push.Expired, ReasonDeadline, now), nil
	case Suppress:
		if d.Kind == push.DecisionRequired {
			return nil, ErrNotSuppressible
		}
		return closeWaiting(d, push.Suppressed, c.Reason, now), nil
	case Acknowledge:
		return decideAcknowledge(d, now), nil
	case Drop:
		return closeWaiting(d, push.DeadAddress, c.Reason, now), nil
	default:
		return nil, errors.New("outbox: unknown command")
	}
}

func held(d push.Delivery, lease string) bool {
	return d.State == push.Leased && d.Lease == lease && lease != ""
}

func closeWaiting(d push.Delivery, to push.State, reason string, now time.Time) []Event {
	if d.State != push.Pending && d.State != push.Retry {
		return nil
	}
	return []Event{Ended{At: now, State: to, Reason: reason}}
}

// decideAcknowledge changes only what was never sent, only to a later time, and
// never into the past.
func decideAcknowledge(d push.Delivery, now time.Time) []Event {
	until := cardGrace(d)
	if d.Kind != push.DecisionRequired || d.State != push.Pending || !until.After(now) || !until.After(d.DueAt) {
		return nil
	}
	return []Event{Held{At: until}}
}

func decideClaim(d push.Delivery, c Claim, now time.Time) ([]Event, error) {
	if d.State.Final() {
		return nil, ErrFinal
	}
	var events []Event
	switch {
	case d.State == push.Leased && d.LeaseUntil.After(now):
		return nil, ErrLeased
	case d.State == push.Leased:
		if events = leaseLost(d, now); once(d) {
			return events, nil
		}
	case d.DueAt.After(now):
		return nil, ErrNotDue
	}
	if !d.ExpiresAt.After(now) {
		return append(events, Ended{At: now, State: push.Expired, Reason: ReasonDeadline}), nil
	}
	return append(events, LeaseTaken(c)), nil
}

// once reports whether a row is never sent twice: each would be one of the few
// that its device gets in an hour.
func once(d push.Delivery) bool { return d.Kind == push.Sweep }

// leaseLost gives a row back whose holder may have sent it.
func leaseLost(d push.Delivery, now time.Time) []Event {
	if once(d) {
		return []Event{Ended{At: now, State: push.Expired, Reason: ReasonOnce, MaybeSent: true}}
	}
	return []Event{LeaseLost{}}
}

func decideSettle(d push.Delivery, c Settle, now time.Time) []Event {
	v := c.Verdict
	switch v.Class {
	case push.OK:
		return accepted(d, c, now)
	case push.Cred:
		return []Event{Returned{At: now.Add(max(CredPause, v.RetryAfter)), Reason: v.Reason, Home: true}}
	case push.Bug:
		return []Event{Ended{At: now, State: push.Rejected, Reason: v.Reason, Counted: true}}
	case push.Dead:
		return dead(d, c, now)
	case push.Suspect:
		return suspect(d, c, now)
	case push.SlowDevice:
		return retry(d, c, max(SlowDevicePause, v.RetryAfter), now)
	case push.SlowAll:
		return retry(d, c, max(SlowAllPause, v.RetryAfter), now)
	default: // Backoff and Ambiguous; what is not understood is never given up.
		return retry(d, c, v.RetryAfter, now)
	}
}

func accepted(d push.Delivery, c Settle, now time.Time) []Event {
	events := []Event{VendorAccepted{At: now}}
	if d.Env != "" && d.Env == c.Sent.Env {
		events = append(events, EnvLearned{Address: d.Address, Generation: c.Sent.Generation, Env: d.Env})
	}
	if c.Sent.State == push.AddressSuspect {
		events = append(events, AddressJudged{Address: d.Address, Generation: c.Sent.Generation, State: push.AddressOK})
	}
	return events
}

// retry plans the next send, no earlier than least from now, or ends a row
// whose deadline comes first.
func retry(d push.Delivery, c Settle, least time.Duration, now time.Time) []Event {
	at := now.Add(Backoff(d.Attempt, least, c.Jitter))
	unsure := c.Verdict.Class == push.Ambiguous || c.Verdict.Class == push.Backoff && !c.Verdict.Unsent
	if unsure && once(d) {
		return []Event{Ended{At: now, State: push.Expired, Reason: ReasonOnce, Counted: true, MaybeSent: true}}
	}
	if !at.Before(d.ExpiresAt) {
		return []Event{Ended{At: now, State: push.Expired, Reason: c.Verdict.Reason, Counted: true, MaybeSent: unsure}}
	}
	planned := RetryPlanned{At: at, Reason: c.Verdict.Reason, MaybeSent: unsure, Generation: c.Sent.Generation}
	if secondTry(d, c.Sent) {
		planned.Env = d.Env
	}
	return []Event{planned}
}

// suspect tries the other environment once. Refused there too, the row ends and
// the address is only marked: what Suspicion could tell to be dead comes as Dead.
func suspect(d push.Delivery, c Settle, now time.Time) []Event {
	other := c.Sent.Env.Other()
	if !secondTry(d, c.Sent) && other != "" {
		return []Event{RetryPlanned{At: now, Reason: c.Verdict.Reason, Env: other, Generation: c.Sent.Generation}}
	}
	return []Event{
		Ended{At: now, State: push.Doubted, Reason: c.Verdict.Reason, Counted: true},
		AddressJudged{
			Address: d.Address, Generation: c.Sent.Generation,
			State: push.AddressSuspect, Reason: c.Verdict.Reason,
		},
	}
}

// dead believes the vendor only about the registration the send went to: a
// token handed in again since, or replaced, is sent to again.
func dead(d push.Delivery, c Settle, now time.Time) []Event {
	cur := c.Current
	if !cur.Found || !cur.Owned {
		return []Event{Ended{At: now, State: push.DeadAddress, Reason: ReasonMoved, Counted: true}}
	}
	if cur.Address.Generation != c.Sent.Generation || cur.Address.Token != c.Sent.Token {
		return []Event{RetryPlanned{At: now, Reason: ReasonRenewed, Generation: c.Sent.Generation}}
	}
	diedAt := c.Verdict.DeadAt
	if diedAt.IsZero() {
		diedAt = c.SentAt
	}
	if !diedAt.After(cur.Address.RegisteredAt) {
		return retry(d, c, c.Verdict.RetryAfter, now)
	}
	return []Event{
		Ended{At: now, State: push.DeadAddress, Reason: c.Verdict.Reason, Counted: true},
		AddressJudged{
			Address: d.Address, Generation: c.Sent.Generation,
			State: push.AddressDead, Reason: c.Verdict.Reason, DeadAt: diedAt,
		},
	}
}
