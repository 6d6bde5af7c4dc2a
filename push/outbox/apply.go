package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Apply folds one event into the row. It never fails: Decide has judged.
func Apply(d push.Delivery, e Event) push.Delivery {
	switch e := e.(type) {
	case LeaseTaken:
		d.State, d.Lease, d.LeaseUntil = push.Leased, e.Lease, e.Until
	case LeaseLost:
		// Its holder may have sent it and died before it could say so.
		d = unlease(d)
		d.State, d.MaybeSent = waiting(d), true
	case Returned:
		d = unlease(d)
		d.State, d.Reason, d.DueAt = waiting(d), e.Reason, e.At
		if e.Home {
			d.Env = ""
		}
	case Held:
		d.HeldUntil, d.DueAt, d.Reason = e.At, e.At, ReasonCardOpen
	case VendorAccepted:
		d = unlease(d)
		d.Attempt++
		d.State, d.Reason, d.AcceptedAt = push.Accepted, "", e.At
	case RetryPlanned:
		d = unlease(d)
		d.Attempt++
		d.State, d.Reason, d.DueAt = push.Retry, e.Reason, e.At
		d.MaybeSent = d.MaybeSent || e.MaybeSent
		d.Env, d.Generation = e.Env, e.Generation
	case Ended:
		d = unlease(d)
		if e.Counted {
			d.Attempt++
		}
		d.State, d.Reason, d.EndedAt = e.State, e.Reason, e.At
		d.MaybeSent = d.MaybeSent || e.MaybeSent
	case AddressJudged, EnvLearned:
		// The address's business, see Mark.
	}
	return d
}

// Step is Decide followed by Apply of every event.
func Step(d push.Delivery, cmd Command, now time.Time) (push.Delivery, []Event, error) {
	events, err := Decide(d, cmd, now)
	for _, e := range events {
		d = Apply(d, e)
	}
	return d, events, err
}

// Mark applies what a row learned to the address as it is stored now, and
// reports whether anything changed. It is the compare-and-set of R21: an
// address renewed or moved since the send is left alone.
func Mark(a push.Address, e Event) (push.Address, bool) {
	switch e := e.(type) {
	case AddressJudged:
		if a.ID != e.Address || a.Generation != e.Generation || a.State == e.State || a.State == push.AddressDead {
			return a, false
		}
		if e.State == push.AddressOK && a.State != push.AddressSuspect {
			return a, false
		}
		if e.State == push.AddressDead && !e.DeadAt.After(a.RegisteredAt) {
			return a, false
		}
		a.State = e.State
		return a, true
	case EnvLearned:
		if a.ID != e.Address || a.Generation != e.Generation || a.Env == e.Env {
			return a, false
		}
		a.Env = e.Env
		return a, true
	default:
		return a, false
	}
}

func unlease(d push.Delivery) push.Delivery {
	d.Lease, d.LeaseUntil = "", time.Time{}
	return d
}

// waiting is the claimable state of a row: retry once it was sent.
func waiting(d push.Delivery) push.State {
	if d.Attempt > 0 {
		return push.Retry
	}
	return push.Pending
}
