package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// SetTimer starts a timer.
type SetTimer struct {
	Held
	Key string
	// At is when, or After how long from now; the other is zero.
	At    time.Time
	After time.Duration
	Data  []byte
}

// maxTimerSpan is how far ahead a timer may be.
const maxTimerSpan = 5 * 365.25 * 24 * time.Hour

// SetTimer starts a timer, or finds the one that was set with the same words,
// fired or not. Errors: *FieldError, *QuotaError, task.ErrLeaseLost,
// ErrKillSwitch, store.ErrNotFound.
func (a *App) SetTimer(ctx context.Context, p policy.Principal, c SetTimer) (task.Timer, error) {
	var timer task.Timer
	err := a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		if !leased(s, lease) {
			return task.ErrLeaseLost
		}
		asked := task.Timer{Task: s.ID, Key: c.Key, At: c.At, After: c.After, Data: c.Data, CreateTime: tx.Now()}
		if c.After > 0 {
			asked.At = tx.Now().Add(c.After)
		}
		asked.At = asked.At.Truncate(time.Microsecond)
		if asked.At.Sub(tx.Now()) > maxTimerSpan {
			return &FieldError{Field: "at", Reason: "LIMIT", Max: int64(maxTimerSpan / time.Second)}
		}
		set, err := tx.Timer(s.ID, c.Key)
		switch {
		case err == nil && set.Again(asked):
			timer = set
			return nil
		case errors.Is(err, store.ErrNotFound):
			if err := a.timerQuota(tx.Read, s.ID); err != nil {
				return err
			}
		case err != nil:
			return err
		}
		timer = asked
		return tx.PutTimer(asked)
	})
	return timer, err
}

func (a *App) timerQuota(tx *store.Read, id string) error {
	timers, err := tx.Timers(id)
	if err == nil && len(timers) >= a.limits.TimersPerTask {
		err = &QuotaError{What: "timers_of_task", Max: int64(a.limits.TimersPerTask)}
	}
	return err
}

// fireTimer tells the task that a timer's time has come. A timer without its
// task goes: it must not be in the way of others for ever.
func (a *App) fireTimer(tx *store.Tx, id, key string) error {
	timer, err := tx.Timer(id, key)
	if errors.Is(err, store.ErrNotFound) {
		return tx.DeleteTimer(id, key)
	}
	if err != nil {
		return err
	}
	s, err := tx.Task(id)
	if errors.Is(err, store.ErrNotFound) {
		return tx.DeleteTimer(id, key)
	}
	if err != nil {
		return err
	}
	if !timer.Due(tx.Now()) {
		return tx.PutTimer(timer)
	}
	timer.FireTime = tx.Now()
	if err := tx.PutTimer(timer); err != nil {
		return err
	}
	_, err = a.signal(tx, s, task.Signal{Kind: task.TimerFired, Timer: key, Data: timer.Data})
	return err
}

// dropTimers takes away the timers of a task that has ended.
func dropTimers(tx *store.Tx, id string) error {
	timers, err := tx.Timers(id)
	for _, t := range timers {
		if err == nil {
			err = tx.DeleteTimer(id, t.Key)
		}
	}
	return err
}
