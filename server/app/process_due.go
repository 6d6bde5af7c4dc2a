package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// dueBatch is how many pointers one look takes.
const dueBatch = 256

// ProcessDue does what time alone brings about, up to now: leases end, waits
// time out, questions and grants expire. It returns when the next thing is due,
// zero when nothing is. One account's trouble does not hold up another's: what
// failed is reported and stays due.
func (a *App) ProcessDue(ctx context.Context) (next time.Time, err error) {
	now := a.clock().UTC()
	due, err := a.store.TakeDue(ctx, now, dueBatch)
	if err != nil {
		return time.Time{}, err
	}
	failed := a.eachAccount(due, func(of []store.Due) error { return a.processAccount(ctx, of) })
	next, err = a.store.NextDue(ctx)
	return next, errors.Join(failed, err)
}

// eachAccount runs fn over what is due, account by account, some of them at the
// same time, and waits for all: a million timers must not come one commit after
// the other.
func (a *App) eachAccount(due []store.Due, fn func([]store.Due) error) error {
	slices.SortStableFunc(due, func(x, y store.Due) int { return strings.Compare(x.Account, y.Account) })
	var (
		running sync.WaitGroup
		mu      sync.Mutex
		failed  error
	)
	free := make(chan struct{}, max(a.limits.DueAtOnce, 1))
	for len(due) > 0 {
		n := 1
		for n < len(due) && due[n].Account == due[0].Account {
			n++
		}
		of := due[:n]
		due = due[n:]
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			if err := fn(of); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	return failed
}

// processAccount does what is due in one account, in one commit; if something
// of it fails, each alone, so that it does not hold up the rest.
func (a *App) processAccount(ctx context.Context, due []store.Due) error {
	err := a.update(ctx, due[0].Account, func(tx *store.Tx) error {
		for _, d := range due {
			if err := a.processDue(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil || len(due) == 1 {
		return err
	}
	var failed error
	for _, d := range due {
		failed = errors.Join(failed, a.update(ctx, d.Account, func(tx *store.Tx) error { return a.processDue(tx, d) }))
	}
	return failed
}

func (a *App) processDue(tx *store.Tx, d store.Due) error {
	switch d.Kind {
	case store.DueLease:
		return a.loseLease(tx, d.ID)
	case store.DueWait:
		return a.wakeWaiting(tx, d.ID)
	case store.DueDeadline:
		return a.missDeadline(tx, d.ID)
	case store.DueDecision:
		return a.expireDecision(tx, d.ID)
	case store.DueWorker:
		return a.lookForWorker(tx, d.ID)
	case store.DueSilence:
		return a.listen(tx, d.ID)
	case store.DueTimer:
		id, key := d.TimerOf()
		return a.fireTimer(tx, id, key)
	default:
		return nil
	}
}

// loseLease ends a lease that nobody extended. After a start every lease lasts
// at least its own length again: downtime of the server costs no attempt.
func (a *App) loseLease(tx *store.Tx, id string) error {
	s, err := tx.Task(id)
	if err != nil {
		return err
	}
	if s.Phase != task.Running || tx.Now().Before(s.Lease.Until) {
		return tx.PutTask(s, false)
	}
	if again := a.started.UTC().Add(s.Lease.Length); tx.Now().Before(again) {
		s.Lease.Until = again
		return tx.PutTask(s, false)
	}
	if s, err = a.stopWrapped(tx, s, s.Lease.ID); err != nil {
		return err
	}
	open, err := ownQuestions(tx.Read, id)
	if err != nil {
		return err
	}
	pending := make([]string, len(open))
	for i, d := range open {
		pending[i] = d.ID
	}
	unacked, err := a.unacked(tx.Read, id, task.Wait{Mode: task.Any, Decisions: pending})
	if err != nil {
		return err
	}
	_, err = a.stepTask(tx, s, task.LoseLease{Lease: s.Lease.ID, Pending: pending, Unacked: unacked})
	return err
}

// missDeadline stops a task that is no longer wanted.
func (a *App) missDeadline(tx *store.Tx, id string) error {
	s, err := tx.Task(id)
	if err != nil {
		return err
	}
	if s, err = a.stepTask(tx, s, task.Overdue{}); err != nil {
		return err
	}
	return tx.PutTask(s, false)
}

// wakeWaiting ends a sleep whose until has passed. One that the agent asked for
// tells it so.
func (a *App) wakeWaiting(tx *store.Tx, id string) error {
	s, err := tx.Task(id)
	if err != nil {
		return err
	}
	if s.Phase != task.Waiting || tx.Now().Before(s.Wait.Until) {
		return tx.PutTask(s, false)
	}
	if s.Wait.Retry {
		_, err = a.stepTask(tx, s, task.Wake{Satisfied: true})
		return err
	}
	_, err = a.signal(tx, s, task.Signal{Kind: task.WaitTimeout})
	return err
}

// expireDecision ends a question in silence, or grants nobody used, or calls the
// person again.
func (a *App) expireDecision(tx *store.Tx, id string) error {
	d, err := tx.Decision(id)
	if err != nil {
		return err
	}
	if d, err = a.stepDecision(tx, d, decision.Expire{}, actorServer); err != nil {
		return err
	}
	if d, err = a.stepDecision(tx, d, decision.ExpireGrants{}, actorServer); err != nil {
		return err
	}
	if d, err = a.remindDecision(tx, d); err != nil {
		return err
	}
	return tx.PutDecision(d)
}
