package app

import (
	"bytes"
	"context"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// CheckpointWrite is the next version of a task's state.
type CheckpointWrite struct {
	Expected      uint64
	Data          []byte
	SchemaVersion uint32
	NextStep      string
}

// SaveCheckpoint stores state together with what it reflects.
type SaveCheckpoint struct {
	Held
	Checkpoint CheckpointWrite
	Ack        []uint64
}

// SaveCheckpoint stores the next version of a task's state and acknowledges
// the signals it reflects: a crash before redelivers them, a crash after does
// not. It returns the version now newest. A repeat under the same lease with the
// same bytes is answered alike. Errors: *task.CheckpointConflictError,
// task.ErrLeaseLost, store.ErrNotFound.
func (a *App) SaveCheckpoint(ctx context.Context, p policy.Principal, c SaveCheckpoint) (uint64, error) {
	var version uint64
	err := a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		s, err := a.saveCheckpoint(tx, s, lease, c.Checkpoint)
		if err != nil {
			return err
		}
		version = s.Checkpoint
		return a.acknowledge(tx, s, c.Ack)
	})
	if err == nil {
		failpoint.Hit("checkpoint.committed")
	}
	return version, err
}

func (a *App) saveCheckpoint(tx *store.Tx, s task.State, lease string, c CheckpointWrite) (task.State, error) {
	if again, err := savedBefore(tx.Read, s, lease, c); again || err != nil {
		return s, err
	}
	s, err := a.stepTask(tx, s, task.SaveCheckpoint{Lease: lease, Expected: c.Expected})
	if err != nil {
		return s, err
	}
	return s, tx.PutCheckpoint(s.ID, store.Checkpoint{
		Version: s.Checkpoint, Data: c.Data, SchemaVersion: c.SchemaVersion, NextStep: c.NextStep, CreateTime: tx.Now(),
	})
}

// savedBefore recognises a checkpoint whose first answer got lost: only the
// holder of the lease can have stored it.
func savedBefore(tx *store.Read, s task.State, lease string, c CheckpointWrite) (bool, error) {
	if s.Phase != task.Running || s.Lease.ID != lease || s.Checkpoint == 0 || c.Expected+1 != s.Checkpoint {
		return false, nil
	}
	kept, err := tx.Checkpoint(s)
	return err == nil && bytes.Equal(kept.Data, c.Data) && kept.SchemaVersion == c.SchemaVersion && kept.NextStep == c.NextStep, err
}
