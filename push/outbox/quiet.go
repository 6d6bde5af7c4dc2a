package outbox

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// How often a device is told what it does not show.
const (
	// SweepsAnHour is how many sweeps an address gets in any hour. iOS runs two
	// or three background pushes of an app in an hour and drops more (Apple:
	// "Pushing background updates to your App").
	SweepsAnHour = 2
	// SweepDelay is what a sweep waits for company, and for the withdrawals it
	// comes after.
	SweepDelay = time.Minute
	// BadgeDelay is what a badge waits for company, BadgeGap the least time
	// between two at an address: 12 in an hour.
	BadgeDelay = 10 * time.Second
	BadgeGap   = 5 * time.Minute

	sweepWindow = time.Hour
)

// Waiting reports whether a row is still to be rendered, so that what happens
// now can be said by it.
func Waiting(d push.Delivery) bool { return d.State == push.Pending || d.State == push.Retry }

// spent is when a row may have reached its device, zero where it did not. What a
// worker has counts as sent now.
func spent(d push.Delivery, now time.Time) time.Time {
	switch {
	case d.State == push.Leased:
		return now
	case d.State == push.Accepted:
		return d.AcceptedAt
	case d.MaybeSent:
		return d.EndedAt
	default:
		return time.Time{}
	}
}

// SweepAt is when the next sweep may be sent after the earlier ones of its
// address, no earlier than now.
func SweepAt(earlier []push.Delivery, now time.Time) time.Time {
	var times []time.Time
	for _, d := range earlier {
		if at := spent(d, now); !at.IsZero() {
			times = append(times, at)
		}
	}
	if len(times) < SweepsAnHour {
		return now
	}
	slices.SortFunc(times, time.Time.Compare)
	return later(now, times[len(times)-SweepsAnHour].Add(sweepWindow))
}

// BadgeAt is when the next badge may be sent after the last one of its address,
// which may be the zero row.
func BadgeAt(last push.Delivery, now time.Time) time.Time {
	if at := spent(last, now); !at.IsZero() {
		return later(now, at.Add(BadgeGap))
	}
	return now
}

// Counts reports whether a sweep still matters to those after it: it waits, or
// was sent within the window.
func Counts(d push.Delivery, now time.Time) bool {
	at := spent(d, now)
	return Waiting(d) || !at.IsZero() && at.Add(sweepWindow).After(now)
}

// FreshSweep judges a claimed sweep. earlier are the other sweeps of its
// address, steps the withdrawals it comes after; zero says that there is nothing
// to count and the app has to be told. One step that was taken is enough: the app
// reads by sync as well, and finds what else is handled.
func FreshSweep(d push.Delivery, earlier, steps []push.Delivery, zero bool, a AddressNow, now time.Time) (Freshness, push.Address) {
	f, addr := Fresh(d, SubjectNow{Open: true, Version: d.Version}, a, now)
	if !f.Send() {
		return f, addr
	}
	if at := SweepAt(earlier, now); at.After(now) {
		return Freshness{Reason: ReasonRate, Again: at}, push.Address{}
	}
	waits := false
	for _, step := range steps {
		zero = zero || step.State == push.Accepted
		waits = waits || !step.State.Final()
	}
	switch {
	case zero:
		return f, addr
	case waits:
		return Freshness{Reason: ReasonAlertOpen, Again: now.Add(SweepDelay)}, push.Address{}
	default:
		return Freshness{State: push.Superseded, Reason: ReasonNotShown}, push.Address{}
	}
}

// FreshBadge judges a claimed badge. An iPhone is never sent a 0: it would wipe
// what the app has on the screen, and what that is only the phone knows.
func FreshBadge(d push.Delivery, count uint32, a AddressNow, now time.Time) (Freshness, push.Address) {
	f, addr := Fresh(d, SubjectNow{Open: true, Version: d.Version}, a, now)
	if f.Send() && count == 0 && d.Lane == push.LaneAPNs {
		return Freshness{State: push.Superseded, Reason: ReasonAppCounts}, push.Address{}
	}
	return f, addr
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
