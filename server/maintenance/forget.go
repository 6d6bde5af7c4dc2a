package maintenance

import (
	"context"
	"log/slog"
	"time"
)

// ForgetEvery is the time between two looks for what is over. A look reads every
// task and every remembered result.
const ForgetEvery = 6 * time.Hour

// ForgetVerbs is what the loop calls.
type ForgetVerbs interface {
	// Forget deletes what is over.
	Forget(ctx context.Context) error
}

// Forget deletes what is over, and returns when ctx ends. What failed is tried
// again with the next look.
func Forget(ctx context.Context, verbs ForgetVerbs, log *slog.Logger) {
	tick := time.NewTicker(ForgetEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := verbs.Forget(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "deleting what is over failed", slog.String("kind", "forget"))
		}
	}
}
