package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// GiveUpTask ends a task that its own agent does not want any more: CANCELED, its
// open questions with it. Nobody is called, because it is neither a result nor a
// question; the timeline says why. A repeat under the same lease is answered
// alike. Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) GiveUpTask(ctx context.Context, p policy.Principal, h Held, why string) (task.Phase, error) {
	var phase task.Phase
	err := a.workStopped(ctx, p, h, func(tx *store.Tx, s task.State, lease string) error {
		if s.Ended.Lease == lease && s.Ended.Op == task.OpRelease {
			phase = s.Ended.Phase
			return nil
		}
		s, err := a.stepTask(tx, s, task.Release{Lease: lease, GiveUp: why})
		if err != nil {
			return err
		}
		phase = s.Phase
		return tx.Audit(p.ID(), "task.given_up", s.ID, "")
	})
	return phase, err
}
