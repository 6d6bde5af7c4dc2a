package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// CompleteTask ends a task with a result.
type CompleteTask struct {
	Held
	// Result is nil when there is nothing to read.
	Result *task.Result
	Ack    []uint64
}

// CompleteTask freezes the result and ends the task, or, where a person has to
// accept it first, offers it and sleeps, unless a signal that would wake it is
// not acknowledged. A repeat under the same lease with the same result is
// answered alike. Errors: task.ErrLeaseLost,
// ErrUnknownArtifact, store.ErrNotFound.
func (a *App) CompleteTask(ctx context.Context, p policy.Principal, c CompleteTask) (task.State, error) {
	var ended task.State
	err := a.workStopped(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		if s.Phase == task.Running && s.Lease.ID == lease {
			if err := a.acknowledge(tx, s, c.Ack); err != nil {
				return err
			}
		}
		if c.Result != nil {
			if err := hasArtifacts(tx.Read, s.ID, c.Result.Artifacts); err != nil {
				return err
			}
		}
		review, err := a.reviewID(tx.Read, s)
		if err != nil {
			return err
		}
		complete := task.Complete{Lease: lease, Result: c.Result, Review: review}
		if review != "" {
			// What its agent has not heard may change the result.
			if complete.Unacked, err = a.unacked(tx.Read, s.ID, task.Wait{Mode: task.Any, Decisions: []string{review}}); err != nil {
				return err
			}
		}
		version := s.OfferVersion
		if ended, err = a.stepTask(tx, s, complete); err != nil {
			return err
		}
		if ended.OfferVersion == version {
			return nil
		}
		return a.offerResult(tx, ended)
	})
	return ended, err
}
