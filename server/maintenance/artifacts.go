package maintenance

import (
	"context"
	"log/slog"
	"time"
)

// ArtifactsEvery is the time between two looks for bytes that nobody has. A look
// reads the names of all artifacts.
const ArtifactsEvery = time.Hour

// ArtifactVerbs is what the loop calls.
type ArtifactVerbs interface {
	// SweepArtifacts removes what nobody has had for the grace.
	SweepArtifacts(ctx context.Context) error
}

// Artifacts removes the bytes of artifacts that nobody has, and returns when ctx
// ends.
func Artifacts(ctx context.Context, verbs ArtifactVerbs, log *slog.Logger) {
	tick := time.NewTicker(ArtifactsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := verbs.SweepArtifacts(ctx); err != nil && ctx.Err() == nil {
			log.ErrorContext(ctx, "sweeping artifacts failed", slog.String("kind", "artifacts"))
		}
	}
}
