package app

import (
	"errors"
	"time"

	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// stepTask carries out one command on a task with everything that follows from
// it in the same transaction. Where the command has nothing left to do the
// task is returned as it is.
func (a *App) stepTask(tx *store.Tx, s task.State, c task.Command) (task.State, error) {
	events, err := task.Decide(s, c, tx.Now())
	if err != nil || len(events) == 0 {
		return s, err
	}
	next := task.ApplyAll(s, events, tx.Now()).Attended(a.patience(), tx.Now())
	show := true
	if _, chatter := c.(task.UpdateProgress); chatter {
		show = tx.Now().Sub(s.HeaderTime) >= thread.HeaderEvery
	}
	if show {
		next.HeaderTime = tx.Now()
	}
	if err := tx.PutTask(next, show); err != nil {
		return s, err
	}
	if err := a.closeStalled(tx, s, next); err != nil {
		return s, err
	}
	if next.Phase.Terminal() {
		_, accepted := c.(task.Accept)
		return a.endTask(tx, next, taskEnding{why: whyCanceled(events), accepted: accepted})
	}
	if task.Lifted(s, next) {
		return a.signal(tx, next, task.Signal{Kind: task.HoldLifted})
	}
	if s.Phase == task.Running && next.Phase != task.Running {
		if next, err = a.leaseGone(tx, next); err != nil {
			return next, err
		}
		return next, showThread(tx, next.Thread)
	}
	return next, nil
}

// showThread lets lists see what was said since the last header: nobody might
// say anything more that would show it.
func showThread(tx *store.Tx, id string) error {
	th, err := tx.Thread(id)
	if err != nil {
		return err
	}
	return tx.PutThread(th, true)
}

// taskEnding is how the end of a task came about.
type taskEnding struct {
	// why is the reason of a cancel.
	why string
	// accepted: a person has seen the result and ended the task with it. That it
	// was offered does not say so: under a stop the next one ends the task.
	accepted bool
}

// endTask does what the end of a task means for everything around it: its
// questions close, its grants are void, its thread shows how it ended, and a
// person is called if there is a reason to.
func (a *App) endTask(tx *store.Tx, s task.State, e taskEnding) (task.State, error) {
	unsettled, err := tx.UnsettledDecisions(s.ID)
	if err != nil {
		return s, err
	}
	for _, d := range unsettled {
		if d.Kind.OfServer() {
			if err := a.taskOver(tx, d); err != nil {
				return s, err
			}
			continue
		}
		if _, err := a.stepDecision(tx, d, decision.Close{To: decision.Canceled, Reason: "The task has ended."}, actorServer); err != nil {
			return s, err
		}
		if _, err := a.stepDecision(tx, d, decision.VoidGrants{}, actorServer); err != nil {
			return s, err
		}
	}
	if err := dropTimers(tx, s.ID); err != nil {
		return s, err
	}
	if err := a.endEffects(tx, s.ID); err != nil {
		return s, err
	}
	th, err := tx.Thread(s.Thread)
	if err != nil {
		return s, err
	}
	th = thread.TaskEnded(th, s.ID, tx.Now())
	it, err := a.appendItem(tx, &th, endItem(s, e))
	if err != nil {
		return s, err
	}
	if err := tx.PutThread(th, true); err != nil {
		return s, err
	}
	s.EndPosition = it.NotablePosition
	if err := tx.PutTask(s, true); err != nil {
		return s, err
	}
	if s.EndPosition > th.Read.Position {
		if err := tx.PutUnread(s.Thread, s.ID, s.EndPosition); err != nil {
			return s, err
		}
	}
	if err := tx.Audit(endActor(s), "task.ended", s.ID, s.Phase.String()); err != nil {
		return s, err
	}
	_, err = a.plan(tx, plan.TaskEnded{
		Subject:   subjectOf(s.Thread, s.ID),
		Outcome:   endOutcome(s),
		HasResult: s.Result != nil && !e.accepted,
		Answered:  s.Answered || e.accepted,
	})
	return s, err
}

// whyCanceled is what the person, or the server, said when it stopped a task.
func whyCanceled(events []task.Event) string {
	for _, e := range events {
		if c, ok := e.(task.CanceledBy); ok {
			return c.Reason
		}
	}
	return ""
}

func endOutcome(s task.State) plan.Outcome {
	switch {
	case s.Phase == task.Completed:
		return plan.Completed
	case s.Phase == task.Failed && s.Failure.Code == task.CouldNotResume:
		return plan.CouldNotResume
	case s.Phase == task.Failed:
		return plan.Failed
	case s.Phase == task.Expired:
		return plan.Expired
	default:
		return plan.Stopped
	}
}

func endActor(s task.State) string {
	if s.Phase == task.Completed || s.Phase == task.Failed && s.Failure.Code != task.CouldNotResume {
		return s.Agent
	}
	return actorServer
}

// actorServer names the server itself in audit entries and holds.
const actorServer = "server"

// endItem is what the timeline says about the end. Results and failures are
// worth the person's attention; what the person asked for is not.
func endItem(s task.State, e taskEnding) thread.Item {
	it := thread.Item{Task: s.ID, Role: thread.RoleServer, Kind: thread.Notice}
	switch {
	case e.accepted:
		it.Parts = []thread.Part{{Text: "Accepted."}} // by who knows what it says
	case s.Phase == task.Completed && s.Result != nil:
		it.Role, it.Kind, it.Notable = thread.RoleAgent, thread.Result, true
		it.Parts = resultParts(s.Result)
	case s.Phase == task.Completed:
		it.Parts, it.Notable = []thread.Part{{Text: "Done."}}, !s.Answered
	case s.Phase == task.Failed:
		it.Kind, it.Notable = thread.Failure, true
		text := s.Failure.Text
		if text == "" {
			text = s.Failure.Code
		}
		it.Parts = []thread.Part{{Text: text}}
	case s.Phase == task.Expired:
		it.Kind, it.Notable = thread.Failure, true
		it.Parts = []thread.Part{{Text: "It was not done in time."}}
	default:
		text := "Stopped."
		if e.why != "" {
			text = "Stopped: " + e.why
		}
		it.Parts = []thread.Part{{Text: text}}
	}
	return it
}

func resultParts(r *task.Result) []thread.Part {
	if r == nil {
		return []thread.Part{{Text: "Done."}}
	}
	parts := []thread.Part{{Text: r.Summary}}
	if r.Body != "" {
		parts = append(parts, thread.Part{Text: r.Body})
	}
	return parts
}

// signal tells a task something: stored with its cause, delivered until
// acknowledged, and waking the task if it waits for this.
func (a *App) signal(tx *store.Tx, s task.State, sig task.Signal) (task.State, error) {
	if s.Phase.Terminal() {
		return s, nil
	}
	if off.Rule("R13") {
		return s, nil
	}
	s.Signals++
	sig.ID, sig.Time = s.Signals, tx.Now()
	if err := tx.PutSignal(s.ID, sig); err != nil {
		return s, err
	}
	if err := tx.PutTask(s, false); err != nil {
		return s, err
	}
	satisfied, err := a.satisfied(tx.Read, s.ID, s.Wait)
	if err != nil {
		return s, err
	}
	return a.stepTask(tx, s, task.Wake{Satisfied: satisfied, Waking: task.Waking(sig, s.Wait)})
}

// satisfied reads a wait set of a task from its sources.
func (a *App) satisfied(tx *store.Read, id string, w task.Wait) (bool, error) {
	var failed error
	ok := w.Satisfied(task.Sources{
		Closed: func(asked string) bool {
			d, err := tx.Decision(asked)
			failed = errors.Join(failed, err)
			return err == nil && d.Status != decision.Pending
		},
		Fired: func(key string) bool {
			// One that was cancelled is not there any more and will never fire.
			t, err := tx.Timer(id, key)
			if errors.Is(err, store.ErrNotFound) {
				return false
			}
			failed = errors.Join(failed, err)
			return err == nil && t.Fired()
		},
	}, tx.Now())
	return ok, failed
}

// unacked reports whether a signal that wakes this wait is not acknowledged.
func (a *App) unacked(tx *store.Read, id string, w task.Wait) (bool, error) {
	above := uint64(0)
	for {
		signals, more, err := tx.Signals(id, above, maxSignals)
		if err != nil {
			return false, err
		}
		for _, sig := range signals {
			if task.Waking(sig, w) {
				return true, nil
			}
			above = sig.ID
		}
		if !more {
			return false, nil
		}
	}
}

// acknowledge forgets signals the agent has heard, and notes on answers that
// they were delivered.
func (a *App) acknowledge(tx *store.Tx, s task.State, ids []uint64) error {
	for _, id := range ids {
		sig, found, err := tx.DeleteSignal(s.ID, id)
		if err != nil {
			return err
		}
		if !found || sig.Kind != task.DecisionClosed {
			continue
		}
		d, err := tx.Decision(sig.Decision)
		if err != nil {
			return err
		}
		if _, err := a.stepDecision(tx, d, decision.Deliver{}, s.Agent); err != nil {
			return err
		}
	}
	return nil
}

// lease draws the lease of a claim. Its end is never sooner than its length
// after now, so a clock that jumps backwards takes nothing away.
func (a *App) lease(claim string, length time.Duration, now time.Time) (task.Lease, error) {
	if length == 0 {
		length = a.limits.LeaseDefault
	}
	if length < a.limits.LeaseMin || length > a.limits.LeaseMax {
		return task.Lease{}, &FieldError{Field: "claim.lease_duration", Reason: "LIMIT", Max: int64(a.limits.LeaseMax / time.Second)}
	}
	id, err := randomName(a.random)
	if err != nil {
		return task.Lease{}, err
	}
	return task.Lease{ID: "lse_" + id, ClaimID: claim, Length: length, Until: now.Add(length)}, nil
}
