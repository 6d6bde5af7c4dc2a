package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// Heartbeat extends a lease.
type Heartbeat struct {
	Held
	// Wait keeps the call open until the hold or the signals change.
	Wait time.Duration
	// Above is the highest signal the worker has seen, Known the hold it has
	// heard of; zero is none.
	Above uint64
	Known task.HoldKind
}

// HeartbeatResult is what the worker should know.
type HeartbeatResult struct {
	Until   time.Time
	Hold    task.Hold
	Signals []SignalView
	More    bool
}

// Heartbeat extends the lease, and with a wait stays open for news, so that a
// stop is heard at once. It never waits past two thirds of the lease: the next
// one has to come in time. While every agent of the account is stopped the
// worker hears a stop and nothing else. Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) Heartbeat(ctx context.Context, p policy.Principal, c Heartbeat) (HeartbeatResult, error) {
	var result HeartbeatResult
	var held task.State
	err := a.workStopped(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		s, err := a.stepTask(tx, s, task.Heartbeat{Lease: lease})
		if err != nil {
			return err
		}
		held, result.Until = s, s.Lease.Until
		return showThread(tx, s.Thread)
	})
	if err != nil {
		return result, err
	}
	if !held.Wrapped() { // which does its own command alone
		a.workers.beats(held.Agent, held.Lease.ID, held.Lease.Until, held.Labels)
	}
	if c.Known == 0 {
		c.Known = task.HoldNone
	}
	wait := min(c.Wait, held.Lease.Length*2/3)
	account, _ := store.AccountKeyOf(store.KindTask, held.ID)
	err = a.hub.Tail(ctx, wait, []string{"task:" + held.ID, killSwitchTopic(account)}, func() (bool, error) {
		news := false
		err := a.store.View(ctx, account, func(tx *store.Read) error {
			s, err := tx.Task(held.ID)
			if err != nil {
				return err
			}
			if s.Lease.ID != held.Lease.ID {
				return task.ErrLeaseLost
			}
			if result.Hold, err = heldBySwitch(tx, s.Hold); err != nil {
				return err
			}
			result.Signals, result.More = nil, false
			if mayAct(tx, p) == nil {
				result.Signals, result.More, err = a.signalViews(tx, s.ID, c.Above)
			}
			news = result.Hold.Kind != c.Known || len(result.Signals) > 0
			return err
		})
		return news, err
	})
	return result, err
}
