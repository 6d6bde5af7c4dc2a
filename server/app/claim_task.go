package app

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// maxSignals and maxSignalBytes bound the signals of one answer.
const (
	maxSignals     = 256
	maxSignalBytes = 1 << 20
)

// Claim is a task in the hands of one worker.
type Claim struct {
	Task       task.State
	Checkpoint store.Checkpoint
	Signals    []SignalView
	More       bool
}

// SignalView is a signal with the decision it is about.
type SignalView struct {
	task.Signal
	About *decision.State
}

// ClaimTask asks for work.
type ClaimTask struct {
	Claim  ClaimOptions
	Labels map[string]string
	Wait   time.Duration
	// Task, when set, is the only one wanted.
	Task string
}

// ClaimTask waits for a claimable task of the calling agent. found is false
// when none came in time. Errors: *FieldError, ErrRevoked for a key that was
// revoked meanwhile, the context's.
func (a *App) ClaimTask(ctx context.Context, p policy.Principal, c ClaimTask) (claim Claim, found bool, err error) {
	line := c.line()
	waiter := a.queue.Join(p.Agent, line)
	if c.Task == "" { // one that wants a single task is not there for others
		done := a.workers.waits(p.Agent, c.Labels)
		defer func() { done(a.clock().UTC()) }()
	}
	woken := false
	defer func() {
		if woken && err != nil {
			waiter.Pass() // the task that woke this worker still waits for one
		}
		waiter.Leave()
	}()
	timer := time.NewTimer(min(c.Wait, a.limits.ClaimWait))
	defer timer.Stop()
	for {
		claim, found, err = a.tryClaim(ctx, p, c)
		if found || err != nil || c.Wait <= 0 {
			return claim, found, err
		}
		select {
		case <-waiter.C():
			woken = true
			waiter.Again(line) // before the next look, so that no wake falls between
		case <-timer.C:
			return a.tryClaim(ctx, p, c)
		case <-ctx.Done():
			return Claim{}, false, ctx.Err()
		}
	}
}

// onlyTask is the label under which a worker that waits for one task alone
// stands in a line of its own: it must not swallow the wakes of others. No
// label of a task is called like that.
const onlyTask = "\x00task"

func (c ClaimTask) line() map[string]string {
	if c.Task == "" {
		return c.Labels
	}
	line := map[string]string{onlyTask: c.Task}
	maps.Copy(line, c.Labels)
	return line
}

// mayWake reports whether a task that became claimable is one for a worker in
// this line.
func mayWake(r store.ReadyTask, line map[string]string) bool {
	only, picky := line[onlyTask]
	return (!picky || only == r.Task) && labelsMatch(r.Labels, line)
}

// tryClaim takes the longest waiting task that this worker may have and nobody
// else is trying. Where two race all the same, one conditional update decides
// and the loser goes on to the next task.
// It gives up only when it has tried all there are: a crowd that lost the race
// for the first few must not go to sleep before the others.
func (a *App) tryClaim(ctx context.Context, p policy.Principal, c ClaimTask) (Claim, bool, error) {
	tried, stopped := map[string]bool{}, map[string]bool{} // by task, by account
	for {
		candidates, err := a.candidates(ctx, p, c, tried)
		if err != nil {
			return Claim{}, false, err
		}
		for _, ready := range candidates {
			tried[ready.Task] = true
			if stopped[ready.Account] {
				continue
			}
			claim, err := a.claimAlone(ctx, p, c, ready)
			stopped[ready.Account] = errors.Is(err, ErrKillSwitch)
			switch {
			case errors.Is(err, errKeyGone):
				return Claim{}, false, ErrRevoked
			case err == nil:
				failpoint.Hit("claim.committed")
				return claim, true, nil
			case errors.Is(err, task.ErrNotClaimable), errors.Is(err, store.ErrNotFound),
				errors.Is(err, ErrRevoked), errors.Is(err, ErrScope), stopped[ready.Account]:
				continue
			default:
				return Claim{}, false, err
			}
		}
		if len(candidates) < claimCandidates {
			return Claim{}, false, nil
		}
	}
}

const (
	// claimCandidates are read at a time, claimScan rows looked at for them.
	claimCandidates = 16
	claimScan       = 10_000
)

// candidates are what this worker may try next: first the task it holds already
// under the same claim id, because the answer to that call may have got lost.
func (a *App) candidates(ctx context.Context, p policy.Principal, c ClaimTask, tried map[string]bool) ([]store.ReadyTask, error) {
	var out []store.ReadyTask
	account, id, found, err := a.store.ClaimedAs(ctx, p.Agent, c.Claim.ID)
	if err != nil {
		return nil, err
	}
	if found && !tried[id] {
		out = append(out, store.ReadyTask{Account: account, Task: id})
	}
	scanned := 0
	err = a.store.ReadyTasks(ctx, p.Agent, func(r store.ReadyTask) bool {
		scanned++
		if labelsMatch(r.Labels, c.Labels) && (c.Task == "" || c.Task == r.Task) && !tried[r.Task] &&
			!a.attempts.passes(r.Task, c.attempt(p)) {
			out = append(out, r)
		}
		return len(out) < claimCandidates && scanned < claimScan
	})
	return out, err
}

// attempt names the worker among all that claim.
func (c ClaimTask) attempt(p policy.Principal) string { return p.Agent + "\x00" + c.Claim.ID }

// claimAlone claims unless another worker is at it. Whoever left the task alone
// for an attempt that failed is told.
func (a *App) claimAlone(ctx context.Context, p policy.Principal, c ClaimTask, ready store.ReadyTask) (Claim, error) {
	if !a.attempts.begin(ready.Task, c.attempt(p)) {
		return Claim{}, task.ErrNotClaimable
	}
	claim, err := a.claim(ctx, p, c, ready.Account, ready.Task)
	if err == nil {
		a.workers.claimed(p.Agent, c.Labels, claim.Task.Lease.ID, claim.Task.Lease.Until)
	}
	if passed := a.attempts.end(ready.Task); passed && err != nil {
		a.queue.Offer(p.Agent, func(line map[string]string) bool { return mayWake(ready, line) })
	}
	return claim, err
}

// errKeyGone ends a claim, where a link that is revoked only ends the try.
var errKeyGone = errors.New("app: key is gone")

func (a *App) claim(ctx context.Context, p policy.Principal, c ClaimTask, account, id string) (Claim, error) {
	var claim Claim
	err := a.update(ctx, account, func(tx *store.Tx) error {
		// The call may have waited for a minute since its key was checked.
		if key, err := tx.CredentialRow(p.Key); err != nil || key.Revoked {
			return errKeyGone
		}
		s, err := workTask(tx.Read, p, id, store.ScopeTaskWork)
		if err != nil {
			return err
		}
		if err := mayAct(tx.Read, p); err != nil {
			return err
		}
		lease, err := a.lease(c.Claim.ID, c.Claim.Length, tx.Now())
		if err != nil {
			return err
		}
		if s, err = a.stepTask(tx, s, task.Claim{Lease: lease}); err != nil {
			return err
		}
		claim, err = a.claimView(tx.Read, s)
		return err
	})
	return claim, err
}

// claimView is what a worker needs to go on: checkpoint and signals.
func (a *App) claimView(tx *store.Read, s task.State) (Claim, error) {
	check, err := tx.Checkpoint(s)
	if err != nil {
		return Claim{}, err
	}
	signals, more, err := a.signalViews(tx, s.ID, 0)
	return Claim{Task: s, Checkpoint: check, Signals: signals, More: more}, err
}

// signalViews reads unacknowledged signals above an id with what they are
// about, within the bounds of one answer.
func (a *App) signalViews(tx *store.Read, id string, above uint64) ([]SignalView, bool, error) {
	signals, more, err := tx.Signals(id, above, maxSignals)
	if err != nil {
		return nil, false, err
	}
	var views []SignalView
	size := 0
	for _, sig := range signals {
		view := SignalView{Signal: sig}
		size += len(sig.Text) + len(sig.Data)
		if sig.Decision != "" {
			d, err := tx.Decision(sig.Decision)
			if err != nil {
				return nil, false, err
			}
			view.About = &d
			size += decisionSize(d)
		}
		if len(views) > 0 && size > maxSignalBytes {
			return views, true, nil
		}
		views = append(views, view)
	}
	return views, more, nil
}

// decisionSize is about how large a decision is on the wire. Arguments count
// twice, because they are drawn as facts once more.
func decisionSize(d decision.State) int {
	n := 512 + len(d.Title) + len(d.Reason) + len(d.CloseReason)
	for _, it := range d.Items {
		n += 64 + len(it.Question) + len(it.Header) + 2*len(it.Schema) + 2*len(it.URL) + 256*len(it.Evidence)
		if it.Action != nil {
			n += 2*(len(it.Action.ArgsJSON)+len(it.Action.TargetJSON)) + len(it.Action.ArgsSchema)
		}
		for _, o := range it.Options {
			n += 16 + len(o.ID) + len(o.Label) + len(o.Prefill)
		}
	}
	if o := d.Origin; o != nil {
		n += 256 + len(o.Raw)
		for k, v := range o.Correlation {
			n += len(k) + len(v)
		}
	}
	if d.Answer != nil {
		for _, it := range d.Answer.Items {
			n += 128 + len(it.Text) + len(it.EditedArgs) + len(it.Content)
		}
	}
	return n
}
