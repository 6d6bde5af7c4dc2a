package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// YieldTask gives a lease back to sleep.
type YieldTask struct {
	Held
	Wait       task.Wait
	Checkpoint *CheckpointWrite
	Ack        []uint64
}

// YieldTask stores the checkpoint, acknowledges signals and puts the task to
// sleep, in one commit. Where the wait is satisfied already, or a waking signal
// is not acknowledged, the task is READY at once. A repeat under the same lease
// is answered alike. Errors: task.ErrLeaseLost, task.ErrEmptyWait,
// *task.CheckpointConflictError, *FieldError for a decision or a timer that is
// not this task's, store.ErrNotFound.
func (a *App) YieldTask(ctx context.Context, p policy.Principal, c YieldTask) (task.Phase, error) {
	var phase task.Phase
	err := a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		if s.Ended.Lease == lease && s.Ended.Op == task.OpYield {
			phase = s.Ended.Phase
			return nil
		}
		if err := ownMembers(tx.Read, s, c.Wait); err != nil {
			return err
		}
		var err error
		if c.Checkpoint != nil {
			if s, err = a.saveCheckpoint(tx, s, lease, *c.Checkpoint); err != nil {
				return err
			}
		}
		yield := task.Yield{Lease: lease, Wait: c.Wait}
		if s.Phase == task.Running && s.Lease.ID == lease {
			if err := a.acknowledge(tx, s, c.Ack); err != nil {
				return err
			}
			if yield.Satisfied, err = a.satisfied(tx.Read, s.ID, c.Wait); err != nil {
				return err
			}
			if yield.Unacked, err = a.unacked(tx.Read, s.ID, c.Wait); err != nil {
				return err
			}
		}
		s, err = a.stepTask(tx, s, yield)
		phase = s.Phase
		return err
	})
	return phase, err
}

// ownMembers: a task waits for its own questions and timers only.
func ownMembers(tx *store.Read, s task.State, w task.Wait) error {
	for _, id := range w.Decisions {
		d, err := tx.Decision(id)
		if err != nil || d.Task != s.ID || d.Kind.OfServer() {
			return &FieldError{Field: "wait.decision_ids", Reason: "UNKNOWN_DECISION"}
		}
	}
	for _, key := range w.Timers {
		if _, err := tx.Timer(s.ID, key); err != nil {
			return &FieldError{Field: "wait.timers", Reason: "UNKNOWN_TIMER"}
		}
	}
	return nil
}
