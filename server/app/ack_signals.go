package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// AckSignals acknowledges what the agent has heard.
type AckSignals struct {
	Held
	Signals []uint64
}

// AckSignals tells that signals reached the agent: they are not delivered
// again, and the person sees an answer as delivered. Errors:
// task.ErrLeaseLost, store.ErrNotFound.
func (a *App) AckSignals(ctx context.Context, p policy.Principal, c AckSignals) error {
	return a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		s, err := a.stepTask(tx, s, task.Ack{Lease: lease})
		if err != nil {
			return err
		}
		return a.acknowledge(tx, s, c.Signals)
	})
}
