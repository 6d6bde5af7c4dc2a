package maintenance

import (
	"context"
	"log/slog"
	"time"

	"github.com/beckon-dev/beckon/server/app"
)

// SweepEvery is the time between two looks for tasks that nothing moves. A look
// reads every task that has not ended.
const SweepEvery = 15 * time.Minute

// SweepVerbs is what the loop calls.
type SweepVerbs interface {
	// SweepStuck mends what it can and returns all that it found.
	SweepStuck(ctx context.Context) ([]app.Stuck, error)
}

// Sweep reports tasks that nothing would ever move, of which there must be none
// (R6), and returns when ctx ends. seen gets the number of those that could not
// be mended, after each look.
func Sweep(ctx context.Context, verbs SweepVerbs, log *slog.Logger, seen func(left int)) {
	tick := time.NewTicker(SweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		stuck, err := verbs.SweepStuck(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			log.ErrorContext(ctx, "looking for stuck tasks failed", slog.String("kind", "sweep"))
			continue
		}
		left := 0
		for _, s := range stuck {
			log.ErrorContext(ctx, "task without a next mover", slog.String("kind", "sweep"),
				slog.String("phase", s.Phase.String()), slog.String("missing", s.Mover.String()), slog.Bool("mended", s.Mended))
			if !s.Mended {
				left++
			}
		}
		seen(left)
	}
}
