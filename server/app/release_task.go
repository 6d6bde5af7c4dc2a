package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// ReleaseTask gives a lease back with nothing to wait for. A repeat under the
// same lease is answered alike. While every agent of the account is stopped it
// ends a wrapped command, which nobody could go on with; another task waits
// until the switch is off. Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) ReleaseTask(ctx context.Context, p policy.Principal, h Held) (task.Phase, error) {
	var phase task.Phase
	err := a.workStopped(ctx, p, h, func(tx *store.Tx, s task.State, lease string) error {
		if s.Ended.Lease == lease && s.Ended.Op == task.OpRelease {
			phase = s.Ended.Phase
			return nil
		}
		s, err := a.stopWrapped(tx, s, lease)
		if err != nil {
			return err
		}
		s, err = a.stepTask(tx, s, task.Release{Lease: lease})
		phase = s.Phase
		return err
	})
	return phase, err
}

// stopWrapped marks a wrapped command as stopped when the switch has stopped it.
func (a *App) stopWrapped(tx *store.Tx, s task.State, lease string) (task.State, error) {
	if !s.Wrapped() || !leased(s, lease) {
		return s, nil
	}
	hold, err := heldBySwitch(tx.Read, s.Hold)
	if err != nil || hold.Kind != task.HoldStop {
		return s, err
	}
	return a.stepTask(tx, s, task.Stop{By: hold.By, Reason: hold.Reason})
}
