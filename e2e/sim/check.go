package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// learn takes over the names that the server has chosen for what the model
// knows to be there: ids, and leases.
func (w *world) learn() {
	w.view(func(tx *store.Read) error {
		for _, t := range w.model.tasks {
			if t.id == "" {
				w.learnTask(tx, t)
			}
			if t.phase == task.Running && t.lease == "" {
				s, err := tx.Task(t.id)
				if err != nil {
					return err
				}
				t.lease = s.Lease.ID
			}
		}
		for _, d := range w.model.decisions {
			if d.id == "" {
				w.learnDecision(tx, d)
			}
			w.learnGrants(tx, d)
		}
		return nil
	})
}

func (w *world) learnTask(tx *store.Read, t *mTask) {
	live, err := tx.LiveTasks(t.agent)
	w.must(err)
	for _, s := range live {
		if w.model.taskOf(s.ID) != nil {
			continue
		}
		if t.thread.id == "" {
			t.thread.id = s.Thread
		}
		t.id = s.ID
		return
	}
	w.failf("R3", "a task was created and is not there")
}

func (w *world) learnDecision(tx *store.Read, d *mDecision) {
	open, err := tx.OpenDecisions(d.task.id)
	w.must(err)
	for _, s := range open {
		if w.model.decisionOf(s.ID) == nil {
			d.id = s.ID
			w.model.facts = append(w.model.facts, fact{kind: factAsked, subject: d.id, version: 1})
			return
		}
	}
	w.failf("R13", "a question was asked and is not there")
}

// view reads the account as it is.
func (w *world) view(fn func(*store.Read) error) { w.must(w.store.View(w.ctx, w.account, fn)) }

// check compares everything stored with the model.
func (w *world) check() {
	w.view(func(tx *store.Read) error {
		for _, t := range w.model.tasks {
			w.checkTask(tx, t)
		}
		for _, d := range w.model.decisions {
			w.checkDecision(tx, d)
		}
		for _, th := range w.model.threads {
			w.checkThread(tx, th)
		}
		w.checkCounters(tx)
		w.checkAlerts(tx)
		return nil
	})
	w.checkQueues()
	w.checkDue()
	w.checkStuck()
}

// same fails unless the store says what the model says.
func (w *world) same(rule, what string, got, want any) {
	if g, m := fmt.Sprint(got), fmt.Sprint(want); g != m {
		w.failf(rule, "%s is %s, want %s", what, g, m)
	}
}

func (w *world) checkTask(tx *store.Read, t *mTask) {
	s, err := tx.Task(t.id)
	w.must(err)
	if s.Phase != t.phase {
		w.failf(phaseRule(s.Phase, t.phase), "task %s is %s, want %s", t.id, s.Phase, t.phase)
	}
	if s.Hold.Kind != t.heldAs() || s.Expiring != t.expiring {
		w.failf(holdRule(s.Hold.Kind, t.heldAs()), "task %s is held by %s, expiring %v; want %s, %v", t.id, s.Hold.Kind, s.Expiring, t.heldAs(), t.expiring)
	}
	if s.Lease.ID != t.lease || !s.Lease.Until.Equal(t.heldUntil()) {
		w.failf("R3", "lease of %s is %q until %s, want %q until %s", t.id, s.Lease.ID, s.Lease.Until, t.lease, t.heldUntil())
	}
	if s.Attempts != t.attempts && t.live() {
		w.same("R4", "attempts of "+t.id, s.Attempts, t.attempts)
	}
	if s.Checkpoint != t.check.version || s.Answered != t.answered || s.Signals != t.lastSignal {
		w.failf("R3", "task %s has checkpoint %d, answered %v, signal %d; want %d, %v, %d", t.id,
			s.Checkpoint, s.Answered, s.Signals, t.check.version, t.answered, t.lastSignal)
	}
	if s.Progress.Text != t.progress {
		w.same("R3", "progress of "+t.id, s.Progress.Text, t.progress)
	}
	offer := ""
	if t.offer != nil {
		offer = t.offer.id
	}
	if s.Offer != offer || s.OfferVersion != t.versions {
		w.failf("R8", "task %s asks about its result as %q, version %d, want %q, version %d", t.id, s.Offer, s.OfferVersion, offer, t.versions)
	}
	w.checkWait(s, t)
	w.checkTimers(tx, t)
	w.checkSignals(tx, t)
	w.checkEnd(s, t)
}

// holdRule names what a wrong hold breaks.
func holdRule(got, want task.HoldKind) string {
	if got == task.HoldStop || want == task.HoldStop {
		return "R7"
	}
	return "R1"
}

// phaseRule names what a wrong phase breaks.
func phaseRule(got, want task.Phase) string {
	switch {
	case got == task.Waiting || want == task.Waiting:
		return "R2"
	case got == task.Failed || want == task.Failed:
		return "R4"
	case got == task.Canceled || want == task.Canceled, got == task.Expired || want == task.Expired:
		return "R7"
	default:
		return "R1"
	}
}

func (t *mTask) heldUntil() time.Time {
	if t.phase == task.Running {
		return t.until
	}
	return time.Time{}
}

// checkWait: R2 and R6. What sleeps waits for something that can still happen.
func (w *world) checkWait(s task.State, t *mTask) {
	var named []string
	for _, d := range t.wait.named {
		named = append(named, d.id)
	}
	got := slices.Clone(s.Wait.Decisions)
	slices.Sort(got)
	slices.Sort(named)
	if !slices.Equal(got, named) || !slices.Equal(s.Wait.Timers, t.wait.timers) || !s.Wait.Until.Equal(t.wait.until) || s.Wait.Retry != t.wait.retry {
		w.failf("R2", "task %s waits for %v, %v until %s, want %v, %v until %s",
			t.id, got, s.Wait.Timers, s.Wait.Until, named, t.wait.timers, t.wait.until)
	}
	if s.Phase != task.Waiting {
		return
	}
	if t.wait.until.IsZero() && !slices.ContainsFunc(t.wait.named, func(d *mDecision) bool { return d.status == decision.Pending }) &&
		!slices.ContainsFunc(t.wait.timers, func(key string) bool { return !t.timers[key].fired }) {
		w.failf("R6", "task %s waits for nothing that can happen", t.id)
	}
	if w.model.closedEnough(t) {
		w.failf("R2", "task %s sleeps though what it waits for is there", t.id)
	}
	if !t.wait.retry && slices.ContainsFunc(t.signals, func(s mSignal) bool { return wakes(s, t.wait) }) {
		w.failf("R2", "task %s sleeps though it has not heard all", t.id)
	}
}

// closedEnough is satisfaction by the members alone; time needs its turn.
func (m *model) closedEnough(t *mTask) bool {
	w := t.wait
	w.until = time.Time{}
	return m.satisfied(t, w)
}

// checkSignals: R3 and R13. What was not acknowledged is still to be delivered,
// and nothing else is.
func (w *world) checkSignals(tx *store.Read, t *mTask) {
	signals, _, err := tx.Signals(t.id, 0, 1<<20)
	w.must(err)
	var got, want []string
	for _, s := range signals {
		got = append(got, fmt.Sprintf("%d:%d:%s", s.ID, s.Kind, s.Decision))
	}
	for _, s := range t.signals {
		id := ""
		if s.d != nil {
			id = s.d.id
		}
		want = append(want, fmt.Sprintf("%d:%d:%s", s.id, s.kind, id))
	}
	if !slices.Equal(got, want) {
		w.failf("R13", "task %s is to be told %v, want %v", t.id, got, want)
	}
}

func (w *world) checkEnd(s task.State, t *mTask) {
	result, failure := "", ""
	if s.Result != nil {
		result = s.Result.Summary
	}
	if s.Failure != nil {
		failure = s.Failure.Code
	}
	if result != t.result || failure != t.failure || s.EndTime.IsZero() != t.live() {
		w.failf("R7", "task %s ended with %q, %q at %s; want %q, %q", t.id, result, failure, s.EndTime, t.result, t.failure)
	}
}

// checkDecision: R10, R13. One answer, its grants, and whether it was heard.
func (w *world) checkDecision(tx *store.Read, d *mDecision) {
	s, err := tx.Decision(d.id)
	w.must(err)
	if s.Status != d.status {
		w.failf("R10", "decision %s is %s, want %s", d.id, s.Status, d.status)
	}
	answer, winner, delivered := answerText(s.Answer), "", false
	if s.Answer != nil {
		winner, delivered = s.Answer.Installation, !s.Answer.DeliverTime.IsZero()
	}
	if answer != d.answer || winner != d.winner {
		w.failf("R10", "decision %s has answer %q by %q, want %q by %q", d.id, answer, winner, d.answer, d.winner)
	}
	if delivered != d.delivered {
		w.same("R13", "delivery of the answer to "+d.id, delivered, d.delivered)
	}
	if s.Revision != d.revision {
		w.same("R10", "revision of "+d.id, s.Revision, d.revision)
	}
	if !s.ExpireTime.Equal(d.until) {
		w.same("R10", "deadline of "+d.id, s.ExpireTime, d.until)
	}
	if len(s.Grants) != len(d.grants) {
		w.failf("R13", "decision %s has %d grants, want %d", d.id, len(s.Grants), len(d.grants))
	}
	for i, g := range s.Grants {
		if g.Digest != d.grants[i].digest {
			w.failf("R12", "grant %d of %s is for the action %x, want that with %s", i, d.id, g.Digest, d.grants[i].args)
		}
		if want := d.grants[i]; g.Item != want.item || g.State != want.state || !g.ExpireTime.Equal(want.until) {
			w.failf("R13", "grant %d of %s is %d until %s, want %d until %s", i, d.id, g.State, g.ExpireTime, want.state, want.until)
		}
	}
}

func (w *world) checkThread(tx *store.Read, th *mThread) {
	s, err := tx.Thread(th.id)
	w.must(err)
	var live []string
	for _, l := range s.Live {
		live = append(live, l.Task)
	}
	var want []string
	for _, t := range th.live {
		want = append(want, t.id)
	}
	if !slices.Equal(live, want) {
		w.failf("R8", "thread %s has live tasks %v, want %v", th.id, live, want)
	}
	if s.Head != th.head || s.NotableHead != th.notable || s.Read.Generation != th.readGen || s.Read.Position != th.readPos {
		w.failf("R24", "thread %s stands at %d, %d, read %d:%d; want %d, %d, read %d:%d", th.id,
			s.Head, s.NotableHead, s.Read.Generation, s.Read.Position, th.head, th.notable, th.readGen, th.readPos)
	}
}
