package maintenance

import (
	"context"
	"log/slog"
	"time"

	"github.com/beckon-dev/beckon/sync/feed"
)

const (
	// idleLook bounds how long a lost wake costs.
	idleLook = 30 * time.Second
	// backOff is the pause after a look that failed, so that one broken row
	// does not become a busy loop.
	backOff = time.Second
)

// DueVerbs is what the loop calls.
type DueVerbs interface {
	// ProcessDue does what is due and says when the next thing will be.
	ProcessDue(ctx context.Context) (next time.Time, err error)
}

// Due does what time alone brings about: it looks when the next thing is due
// and when topic is woken, and returns when ctx ends.
func Due(ctx context.Context, verbs DueVerbs, hub *feed.Hub, topic string, log *slog.Logger) {
	wake := hub.Subscribe(topic) // before the first look, so that nothing falls between
	defer wake.Close()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake.C():
		case <-timer.C:
		}
		next, err := verbs.ProcessDue(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.ErrorContext(ctx, "due work failed", slog.String("kind", "due"))
		}
		timer.Reset(pause(next, time.Now(), err))
	}
}

// pause is how long the loop may sleep.
func pause(next, now time.Time, err error) time.Duration {
	wait := idleLook
	if !next.IsZero() {
		wait = min(wait, max(next.Sub(now), 0))
	}
	if err != nil {
		wait = max(wait, backOff)
	}
	return wait
}
