package app

import (
	"context"
	"errors"
	"slices"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// Stuck is a task that nothing would ever move.
type Stuck struct {
	Account string
	Task    string
	Phase   task.Phase
	// Mover is who should move the task, and whose pointer is missing; NoMover
	// where nobody even should.
	Mover task.Mover
	// Mended: it has been given its pointer back.
	Mended bool
}

// accountsAtOnce is how many accounts one look at the list takes.
const accountsAtOnce = 256

// FindStuck proves that every task which has not ended has a next mover, and
// returns those that have none (R6). It reads, account by account, what the
// tasks say and whether the pointer that would bring them up is there.
func (a *App) FindStuck(ctx context.Context) ([]Stuck, error) {
	var out []Stuck
	after := ""
	for {
		accounts, err := a.store.AccountsAfter(ctx, after, accountsAtOnce)
		if err != nil || len(accounts) == 0 {
			return out, err
		}
		for _, row := range accounts {
			var found []Stuck
			err := a.store.View(ctx, row.Key, func(tx *store.Read) error {
				found, err = stuckOf(tx)
				return err
			})
			if err != nil {
				return out, err
			}
			out = append(out, found...)
		}
		after = accounts[len(accounts)-1].Key
	}
}

func stuckOf(tx *store.Read) ([]Stuck, error) {
	tasks, err := tx.LiveTasks("")
	if err != nil {
		return nil, err
	}
	var out []Stuck
	for _, s := range tasks {
		mover, moves, err := nextMover(tx, s)
		if err != nil {
			return nil, err
		}
		if !moves {
			out = append(out, Stuck{Account: tx.Account(), Task: s.ID, Phase: s.Phase, Mover: mover})
		}
	}
	return out, nil
}

// nextMover is who moves a task next, and whether that would really happen.
func nextMover(tx *store.Read, s task.State) (mover task.Mover, moves bool, err error) {
	open := func(id string) bool {
		d, failed := tx.Decision(id)
		err = errors.Join(err, failed)
		return failed == nil && d.Status == decision.Pending
	}
	runs := func(key string) bool {
		t, failed := tx.Timer(s.ID, key)
		return failed == nil && !t.Fired()
	}
	mover = s.NextMover(open, runs)
	if err != nil {
		return mover, false, err
	}
	switch mover {
	case task.NoMover:
		return mover, false, nil
	case task.MoverLease:
		moves, err = tx.HasDue(store.DueLease, s.ID)
	case task.MoverQueue:
		moves, err = queueMoves(tx, s)
	case task.MoverTime:
		moves, err = timeMoves(tx, s, runs)
	default:
		moves = true
	}
	return mover, moves, err
}

// queueMoves: a worker would find the task, and should none come, the server
// looks for one and calls the person.
func queueMoves(tx *store.Read, s task.State) (bool, error) {
	queued, err := tx.Queued(s.ID)
	if err != nil || !queued {
		return false, err
	}
	return tx.HasDue(store.DueWorker, s.ID)
}

func timeMoves(tx *store.Read, s task.State, runs func(string) bool) (bool, error) {
	if !s.Wait.Until.IsZero() {
		return tx.HasDue(store.DueWait, s.ID)
	}
	key := s.Wait.Timers[slices.IndexFunc(s.Wait.Timers, runs)]
	return tx.HasDue(store.DueTimer, store.TimerID(s.ID, key))
}

// SweepStuck looks for tasks that nothing moves, gives them back the pointer
// that a fault took, and wakes those that sleep on what has happened. What cannot be mended that way is returned all the same:
// somebody has to look.
func (a *App) SweepStuck(ctx context.Context) ([]Stuck, error) {
	stuck, err := a.FindStuck(ctx)
	for i := range stuck {
		mended, failed := a.mendStuck(ctx, stuck[i])
		stuck[i].Mended = mended
		err = errors.Join(err, failed)
	}
	return stuck, err
}

func (a *App) mendStuck(ctx context.Context, stuck Stuck) (mended bool, err error) {
	err = a.update(ctx, stuck.Account, func(tx *store.Tx) error {
		s, err := tx.Task(stuck.Task)
		if err != nil {
			return err
		}
		if err := tx.Repoint(s); err != nil {
			return err
		}
		satisfied, err := a.satisfied(tx.Read, s.ID, s.Wait)
		if err != nil {
			return err
		}
		if s, err = a.stepTask(tx, s, task.Wake{Satisfied: satisfied}); err != nil {
			return err
		}
		_, mended, err = nextMover(tx.Read, s)
		return err
	})
	return mended, err
}
