package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// ReportEvidence says what a probe showed.
type ReportEvidence struct {
	Effect     string
	Generation uint32
	Kind       effect.Kind
	Text       string
}

// ReportEvidence notes what a probe showed of a generation. FOUND settles an
// effect that nobody has confirmed. NOT_FOUND would open another generation where
// a rule called the probe authoritative; there are no such rules yet. Like
// ConfirmEffect it needs no lease. Errors: effect.ErrGeneration, ErrScope,
// ErrRevoked, store.ErrNotFound.
func (a *App) ReportEvidence(ctx context.Context, p policy.Principal, c ReportEvidence) (effect.State, error) {
	return a.tellEffect(ctx, p, c.Effect, "", func(task.State) effect.Command {
		return effect.Report{Generation: c.Generation, Kind: c.Kind, Text: c.Text}
	})
}
