package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// ReleaseTask gives a lease back with nothing to wait for. A repeat under the
// same lease is answered alike. Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) ReleaseTask(ctx context.Context, p policy.Principal, h Held) (task.Phase, error) {
	var phase task.Phase
	err := a.work(ctx, p, h, func(tx *store.Tx, s task.State, lease string) error {
		if s.Ended.Lease == lease && s.Ended.Op == task.OpRelease {
			phase = s.Ended.Phase
			return nil
		}
		s, err := a.stepTask(tx, s, task.Release{Lease: lease})
		phase = s.Phase
		return err
	})
	return phase, err
}
