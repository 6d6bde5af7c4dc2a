package sim

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// couldNotResume is the failure of a task whose workers were lost too often.
const couldNotResume = "could_not_resume"

// ready puts a task into the queue.
func (m *model) ready(t *mTask) {
	t.phase, t.wait, t.readySince = task.Ready, mWait{}, m.now()
}

// satisfied: enough of the named questions are closed and of the named timers
// have fired, or the time has come.
func (m *model) satisfied(t *mTask, w mWait) bool {
	if !w.until.IsZero() && !m.now().Before(w.until) {
		return true
	}
	closed := 0
	for _, d := range w.named {
		if d.status != decision.Pending {
			closed++
		}
	}
	for _, key := range w.timers {
		if have := t.timers[key]; have != nil && have.fired {
			closed++
		}
	}
	if members := len(w.named) + len(w.timers); w.all {
		return members > 0 && closed == members
	}
	return closed > 0
}

// wakes: a signal that ends a sleep by itself.
func wakes(s mSignal, w mWait) bool {
	switch s.kind {
	case task.Message, task.HoldLifted, task.ApprovalRevoked, task.ResultSentBack:
		return true
	case task.DecisionClosed:
		return !w.names(s.d)
	default:
		return false
	}
}

// signal tells a task something and wakes it if it waits for this.
func (m *model) signal(t *mTask, s mSignal) {
	if !t.live() {
		return
	}
	t.lastSignal++
	s.id = t.lastSignal
	t.signals = append(t.signals, s)
	if t.phase == task.Waiting && (m.satisfied(t, t.wait) || wakes(s, t.wait)) {
		m.ready(t)
	}
}

// ack forgets signals. An answer among them has now been delivered.
func (m *model) ack(t *mTask, ids []uint64) {
	t.signals = slices.DeleteFunc(t.signals, func(s mSignal) bool {
		if !slices.Contains(ids, s.id) {
			return false
		}
		if s.kind == task.DecisionClosed && s.d.status == decision.Resolved {
			s.d.delivered = true
		}
		return true
	})
}

// giveBack ends a lease on purpose, and remembers how.
func (t *mTask) giveBack(by, body string) {
	t.endedLease, t.endedBy, t.endedBody = t.lease, by, body
	t.lease, t.claim, t.attempts = "", "", 0
}

// askStop is what a person or a silent question wants: no lease means the end.
func (m *model) askStop(t *mTask) {
	switch {
	case !t.live():
	case t.phase == task.Running:
		t.stop, t.paused = true, false
	default:
		m.end(t, task.Canceled, false)
	}
}

// end ends a task, and with it all it has asked.
func (m *model) end(t *mTask, phase task.Phase, lost bool) {
	t.phase, t.wait, t.lease, t.claim = phase, mWait{}, "", ""
	clear(t.timers)
	for _, d := range t.asked {
		if d.status == decision.Pending {
			d.status = decision.Canceled
		}
		for i := range d.grants {
			if d.grants[i].state == decision.Armed {
				d.grants[i].state = decision.Void
			}
		}
	}
	if t.offer != nil {
		t.offer.status, t.offer = decision.Canceled, nil
	}
	th := t.thread
	th.live = slices.DeleteFunc(th.live, func(o *mTask) bool { return o == t })
	th.head++
	// Bad news always counts as unread, and good news unless there is nothing
	// to read and the person has just dealt with the task.
	if phase == task.Failed || phase == task.Expired || phase == task.Completed && !t.accepted && (t.result != "" || !t.answered) {
		th.notable++
		t.endPosition = th.notable
	}
	m.facts = append(m.facts, fact{
		kind: factEnded, subject: t.id, phase: phase, lost: lost,
		answered: t.answered || t.accepted, result: t.result != "" && !t.accepted,
	})
}

// loseLease is a lease that nobody extended in time.
func (m *model) loseLease(t *mTask) {
	now := m.now()
	if t.phase != task.Running || now.Before(t.until) {
		return
	}
	if again := m.started.Add(t.length); now.Before(again) {
		t.until = again
		return
	}
	m.stopWrapped(t)
	t.lease, t.claim = "", ""
	open := mWait{named: t.openOf()}
	// What the lost worker did not acknowledge, another one has to hear.
	unheard := slices.ContainsFunc(t.signals, func(s mSignal) bool { return wakes(s, open) })
	switch {
	case t.stop:
		m.end(t, t.stoppedAs(), false)
	case len(open.named) > 0 && t.max != 1 && !unheard:
		t.phase, t.wait = task.Waiting, open
	case t.attempts+1 >= t.max:
		t.attempts++
		t.failure = couldNotResume
		m.end(t, task.Failed, true)
	case t.attempts == 0:
		t.attempts++
		m.ready(t)
	default:
		// The limits of this story allow five.
		pause := []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}[t.attempts-1]
		t.attempts++
		t.phase, t.wait = task.Waiting, mWait{until: now.Add(pause), retry: true}
	}
}

// wake ends a sleep whose time has come.
func (m *model) wake(t *mTask) {
	switch {
	case t.phase != task.Waiting || m.now().Before(t.wait.until):
	case t.wait.retry:
		m.ready(t) // which is no news for the agent
	default:
		m.signal(t, mSignal{kind: task.WaitTimeout})
	}
}

// stoppedAs is how a task ends that was told to stop: by the clock or by
// somebody.
func (t *mTask) stoppedAs() task.Phase {
	if t.expiring {
		return task.Expired
	}
	return task.Canceled
}

// overdue is the deadline of a task. Whoever works on it is told first; what was
// stopped before stays stopped.
func (m *model) overdue(t *mTask) {
	switch {
	case t.dueDeadline().IsZero() || m.now().Before(t.deadline):
	case t.phase == task.Running:
		t.stop, t.paused, t.expiring = true, false, true
	default:
		m.end(t, task.Expired, false)
	}
}

// dueDeadline is when the deadline has to be looked at, if it has to.
func (t *mTask) dueDeadline() time.Time {
	if !t.live() || t.stop {
		return time.Time{}
	}
	return t.deadline
}

// pause and resume are the person's. Under a stop there is nothing left to hold,
// and a task that is let go hears of it.
func (m *model) pause(t *mTask) string {
	if t.live() && !t.stop {
		t.paused = true
	}
	return t.heldText()
}

func (m *model) resume(t *mTask) string {
	if t.live() && t.paused {
		t.paused = false
		t.readySince = m.now() // where it waits for a worker
		m.signal(t, mSignal{kind: task.HoldLifted})
	}
	return t.heldText()
}

// heldAs is the hold that shows.
func (t *mTask) heldAs() task.HoldKind {
	switch {
	case t.stop:
		return task.HoldStop
	case t.paused:
		return task.HoldPause
	default:
		return task.HoldNone
	}
}

func (t *mTask) heldText() string { return "ok " + t.phase.String() + " " + t.heldAs().String() }
