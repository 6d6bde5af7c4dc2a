package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Pauses that a verdict calls for where the vendor names none.
const (
	// BaseDelay is the first retry's delay; each further one doubles it up to
	// MaxDelay. There is no last retry: the deadline of the row ends it.
	BaseDelay = time.Second
	MaxDelay  = 5 * time.Minute
	// maxStart is the most at which the doubling starts for a vendor that asks
	// for a least wait (Google: ten seconds after an error of its server).
	maxStart = 10 * time.Second
	// SlowDevicePause and SlowAllPause are the least waits after being told to
	// slow down.
	SlowDevicePause = 30 * time.Second
	SlowAllPause    = time.Minute
	// CredPause is how long a row rests after our credentials were refused.
	// The circuit holds the lane anyway; this spreads the return.
	CredPause = 30 * time.Second
)

// CardGrace is the longest an alert waits on a device that shows its card. It is
// counted from the question, so that saying it again does not add to it.
const CardGrace = time.Minute

// cardGrace is until when a row may wait: half of the time there is to answer at
// most.
func cardGrace(d push.Delivery) time.Time {
	return d.CreatedAt.Add(min(CardGrace, d.ExpiresAt.Sub(d.CreatedAt)/2)).Truncate(time.Microsecond)
}

// Backoff is the wait before the next send after `attempts` earlier ones:
// exponential, the upper half of it jittered, and never less than least, where
// the doubling starts, too: a vendor that wants ten seconds after an error means
// ten, then twenty. jitter in [0, 1) is the caller's chance.
func Backoff(attempts int, least time.Duration, jitter float64) time.Duration {
	d := MaxDelay
	if attempts >= 0 && attempts < 16 {
		d = min(MaxDelay, max(BaseDelay, min(least, maxStart))<<attempts)
	}
	spread := time.Duration(float64(d/2) * jitter)
	if least > d/2 {
		return least + spread
	}
	return d/2 + spread
}
