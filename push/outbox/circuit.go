package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Bounds of a lane's pause.
const (
	FirstCircuitPause = 10 * time.Second
	MaxCircuitPause   = 5 * time.Minute
	maxSlowPause      = time.Hour
)

// Circuit stops a lane whose vendor refuses our credentials or tells all of us
// to slow down, so that rows keep waiting instead of being spent. The zero
// value is closed. It is a value: Observe returns the next one.
//
//	closed ── Cred, SlowAll ──► open until a time ──► probing (one send)
//	   ▲                                                 │      │
//	   └──────────── the vendor judged the message ──────┘      └── Cred, SlowAll,
//	                                                                no answer: open, longer
type Circuit struct {
	// OpenUntil is zero while closed. Once reached, one send may probe.
	OpenUntil time.Time
	// Reason is the vendor's word that opened it.
	Reason string
	// Trips counts openings in a row.
	Trips int
}

// Closed reports whether the lane runs freely.
func (c Circuit) Closed() bool { return c.OpenUntil.IsZero() }

// Allowance is how many sends may be out at once at now: all of free while
// closed, one to probe once the pause is over, none before.
func (c Circuit) Allowance(now time.Time, free, inFlight int) int {
	switch {
	case c.Closed():
		return free
	case now.Before(c.OpenUntil) || inFlight > 0:
		return 0
	default:
		return min(free, 1)
	}
}

// Observe folds one verdict. A late success of a send from before the opening
// does not close it; only an answer to a probe does.
func (c Circuit) Observe(v push.Verdict, now time.Time) Circuit {
	probing := !c.Closed() && !now.Before(c.OpenUntil)
	switch v.Class {
	case push.Cred:
		return c.trip(v, c.pause(), probing, now)
	case push.SlowAll:
		return c.trip(v, max(SlowAllPause, v.RetryAfter), probing, now)
	case push.Backoff, push.Ambiguous:
		if probing {
			return c.trip(v, max(c.pause(), v.RetryAfter), probing, now)
		}
		return c
	default:
		if probing {
			return Circuit{}
		}
		return c
	}
}

// trip opens the circuit, or keeps it open when the verdict belongs to a send
// from before.
func (c Circuit) trip(v push.Verdict, pause time.Duration, probing bool, now time.Time) Circuit {
	if !c.Closed() && !probing {
		return c
	}
	return Circuit{OpenUntil: now.Add(min(pause, maxSlowPause)), Reason: v.Reason, Trips: c.Trips + 1}
}

func (c Circuit) pause() time.Duration {
	if c.Trips > 8 {
		return MaxCircuitPause
	}
	return min(MaxCircuitPause, FirstCircuitPause<<c.Trips)
}
