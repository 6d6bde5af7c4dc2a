package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func (h *harness) timer(held app.Held, key string, after time.Duration) task.Timer {
	h.t.Helper()
	timer, err := h.app.SetTimer(h.t.Context(), h.agent, app.SetTimer{Held: held, Key: key, After: after, Data: []byte(key)})
	check(h.t, err)
	return timer
}

// A task sleeps on a timer, across a restart of the server, and wakes with what
// the timer was set with; not before, and once.
func TestSetTimer_WakesItsTask(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	timer := h.timer(held, "nap", time.Hour)
	if !timer.At.Equal(h.clock.Now().Add(time.Hour)) || timer.Fired() {
		t.Fatalf("set %+v", timer)
	}
	h.sleep(held, task.Wait{Timers: []string{"nap"}})
	h.clock.Advance(time.Hour - time.Microsecond)
	h.restart()
	h.due()
	if got := h.task(s.ID).Phase; got != task.Waiting {
		t.Fatalf("before its time: %v", got)
	}
	h.clock.Advance(time.Microsecond)
	h.due()
	claim := h.claim("again")
	if len(claim.Signals) != 1 || claim.Signals[0].Kind != task.TimerFired || claim.Signals[0].Timer != "nap" || string(claim.Signals[0].Data) != "nap" {
		t.Fatalf("woken with %+v", claim.Signals)
	}
	h.clock.Advance(10 * time.Second)
	h.due()
	if got := h.signals(s.ID); len(got) != 1 {
		t.Errorf("fired again: %+v", got)
	}
}

// Work that runs anew after a crash sets its timers anew: what has fired has
// fired, and what runs goes on.
func TestSetTimer_AgainIsTheSame(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	first := h.timer(held, "nap", 20*time.Second)
	h.clock.Advance(10 * time.Second)
	if again := h.timer(held, "nap", 20*time.Second); !again.At.Equal(first.At) {
		t.Errorf("set again it fires at %v, not at %v", again.At, first.At)
	}
	h.clock.Advance(10 * time.Second)
	h.due()
	if again := h.timer(held, "nap", 20*time.Second); !again.Fired() {
		t.Error("set again after it had fired, it runs again")
	}
	phase, err := h.app.YieldTask(t.Context(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Timers: []string{"nap"}}, Ack: []uint64{1}})
	check(t, err)
	if phase != task.Ready {
		t.Errorf("a wait for what has fired is %v", phase)
	}
	held = heldBy(h.claim("next"))
	if other := h.timer(held, "nap", time.Minute); other.Fired() || !other.At.Equal(h.clock.Now().Add(time.Minute)) {
		t.Errorf("set with other words: %+v", other)
	}
	if got := h.task(s.ID).Phase; got != task.Running {
		t.Errorf("the task is %v", got)
	}
}

func TestSetTimer_WaitSets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode             task.WaitMode
		answered, passed bool
		want             task.Phase
	}{
		"any, the timer":    {task.Any, false, true, task.Ready},
		"any, the answer":   {task.Any, true, false, task.Ready},
		"any, neither":      {task.Any, false, false, task.Waiting},
		"all, the timer":    {task.All, false, true, task.Waiting},
		"all, the answer":   {task.All, true, false, task.Waiting},
		"all, both of them": {task.All, true, true, task.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			d := h.ask(held, "a", decision.WriteReversible)
			h.timer(held, "nap", time.Minute)
			h.sleep(held, task.Wait{Mode: c.mode, Decisions: []string{d.ID}, Timers: []string{"nap"}})
			if c.answered {
				h.answer(h.phone, d, "approve")
			}
			if c.passed {
				h.clock.Advance(time.Minute)
				h.due()
			}
			if got := h.task(s.ID).Phase; got != c.want {
				t.Errorf("the task is %v, want %v", got, c.want)
			}
		})
	}
}

// A timer that nobody waits for leaves a signal and wakes nobody.
func TestSetTimer_NotWaitedFor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.timer(held, "nap", time.Minute)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	h.clock.Advance(time.Minute)
	h.due()
	if got := h.task(s.ID).Phase; got != task.Waiting || len(h.signals(s.ID)) != 1 {
		t.Errorf("the task is %v with %d signals", got, len(h.signals(s.ID)))
	}
}

func TestCancelTimer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.timer(held, "nap", 10*time.Second)
	for range 2 { // one that is not there is no error
		check(t, h.app.CancelTimer(t.Context(), h.agent, app.CancelTimer{Held: held, Key: "nap"}))
	}
	h.clock.Advance(20 * time.Second)
	h.due()
	if got := h.signals(s.ID); len(got) != 0 {
		t.Errorf("a cancelled timer fired: %+v", got)
	}
	_, err := h.app.YieldTask(t.Context(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Timers: []string{"nap"}}})
	sameNamed(t, "waiting for it", err, &app.FieldError{Field: "wait.timers", Reason: "UNKNOWN_TIMER"})
}

func TestSetTimer_EndsWithItsTask(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.timer(held, "nap", time.Hour)
	h.sleep(held, task.Wait{Timers: []string{"nap"}})
	h.stop("k", s.ID)
	timers, err := h.app.ListTimers(t.Context(), h.phone.Principal, s.ID)
	check(t, err)
	if next := h.due(); len(timers) != 0 || !next.IsZero() {
		t.Errorf("left %d timers, next due %v", len(timers), next)
	}
}

func TestSetTimer_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.TimersPerTask = 2 }))
	s, held := h.startTask("one")
	h.timer(held, "a", time.Hour)
	h.timer(held, "b", time.Hour)
	h.timer(held, "b", 2*time.Hour) // a known key takes no more room
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	for name, c := range map[string]struct {
		by   policy.Principal
		do   app.SetTimer
		want error
	}{
		"one too many":  {h.agent, app.SetTimer{Held: held, Key: "c", After: time.Hour}, &app.QuotaError{What: "timers_of_task", Max: 2}},
		"too far ahead": {h.agent, app.SetTimer{Held: held, Key: "a", At: h.clock.Now().AddDate(6, 0, 0)}, &app.FieldError{Field: "at", Reason: "LIMIT", Max: 157788000}},
		"another lease": {h.agent, app.SetTimer{Held: app.Held{Task: s.ID, Lease: "lse_other"}, Key: "a", After: time.Hour}, task.ErrLeaseLost},
		"no lease":      {h.agent, app.SetTimer{Held: app.Held{Task: s.ID}, Key: "a", After: time.Hour}, task.ErrLeaseLost},
		"a stranger":    {loner, app.SetTimer{Held: held, Key: "a", After: time.Hour}, store.ErrNotFound},
	} {
		_, err := h.app.SetTimer(t.Context(), c.by, c.do)
		sameNamed(t, name, err, c.want)
	}
}

// Many timers due at once wake their tasks in few commits; one without a task is
// not in their way.
func TestSetTimer_ManyAtOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const tasks = 300
	var ids []string
	for i := range tasks {
		s, held := h.startTask(fmt.Sprint(i))
		h.timer(held, "nap", time.Minute)
		h.sleep(held, task.Wait{Timers: []string{"nap"}})
		ids = append(ids, s.ID)
	}
	// A pointer without its task, as a fault of the disk would leave it.
	h.update(h.account, func(tx *store.Tx) error {
		return tx.PutTimer(task.Timer{Task: "tsk_gone", Key: "nap", At: h.clock.Now()})
	})
	h.clock.Advance(time.Minute)
	before := h.commits.n.Load()
	h.due()
	if next := h.due(); !next.After(h.clock.Now()) {
		t.Errorf("something is still due at %v", next)
	}
	if n := h.commits.n.Load() - before; n > 4 {
		t.Errorf("%d commits for %d timers", n, tasks)
	}
	for _, id := range ids {
		if got := h.task(id).Phase; got != task.Ready {
			t.Fatalf("a task is still %v", got)
		}
	}
}
