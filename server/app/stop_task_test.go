package app_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func (h *harness) stop(key, id string) app.StopResult {
	h.t.Helper()
	r, err := h.app.StopTask(context.Background(), h.phone.Principal, app.StopTask{Key: key, Task: id, Reason: "enough"})
	check(h.t, err)
	return r
}

// R7: without a lease the task is over at once.
func TestStopTask_WithoutALease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]func(h *harness) (task.State, []string){
		"ready": func(h *harness) (task.State, []string) { return h.createTask("one"), nil },
		"waiting": func(h *harness) (task.State, []string) {
			s, held := h.startTask("one")
			d := h.ask(held, "a", decision.WriteReversible)
			h.sleep(held, task.Wait{Decisions: []string{d.ID}})
			return s, []string{d.ID}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, asked := c(h)
			w := h.watch(s.Thread)
			r := h.stop("k", s.ID)
			e := w.look()
			if r.Outcome != app.Stopped || r.Task.Phase != task.Canceled || h.task(s.ID).Phase != task.Canceled {
				t.Errorf("stop met %v, the task is %v", r.Outcome, r.Task.Phase)
			}
			// Nothing rings; where a question is gone the number falls.
			if e.Commits != 1 || slices.ContainsFunc(e.Outbox, func(kind string) bool { return kind != "sweep" }) || e.Badge != (store.Counters{}) {
				t.Errorf("left behind %+v", e)
			}
			for _, id := range asked {
				if d := h.decision(id); d.Status != decision.Canceled {
					t.Errorf("its question is %v", d.Status)
				}
			}
			if _, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "c"}}); found || err != nil {
				t.Errorf("a stopped task was claimed: %v %v", found, err)
			}
			if again := h.stop("other key", s.ID); again.Outcome != app.AlreadyFinished {
				t.Errorf("stopped again: %v", again.Outcome)
			}
			if again := h.stop("k", s.ID); again.Outcome != app.Stopped {
				t.Errorf("repeated: %v", again.Outcome)
			}
		})
	}
}

// With a lease the worker is told; what it does next decides how the task ends.
func TestStopTask_UnderALease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next func(h *harness, held app.Held) error
		want task.Phase
	}{
		"yield": {func(h *harness, held app.Held) error {
			_, err := h.app.YieldTask(context.Background(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Until: h.clock.Now().Add(time.Hour)}})
			return err
		}, task.Canceled},
		"release": {func(h *harness, held app.Held) error {
			_, err := h.app.ReleaseTask(context.Background(), h.agent, held)
			return err
		}, task.Canceled},
		"lease end": {func(h *harness, _ app.Held) error {
			h.clock.Advance(30 * time.Second)
			_, err := h.app.ProcessDue(context.Background())
			return err
		}, task.Canceled},
		"complete keeps its truth": {func(h *harness, held app.Held) error {
			_, err := h.app.CompleteTask(context.Background(), h.agent, app.CompleteTask{Held: held})
			return err
		}, task.Completed},
		"fail keeps its truth": {func(h *harness, held app.Held) error {
			_, err := h.app.FailTask(context.Background(), h.agent, app.FailTask{Held: held, Failure: task.Failure{Code: "x"}})
			return err
		}, task.Failed},
		"nothing yet": {func(h *harness, held app.Held) error {
			_, err := h.app.Heartbeat(context.Background(), h.agent, app.Heartbeat{Held: held})
			return err
		}, task.Running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			d := h.ask(held, "a", decision.WriteReversible)
			w := h.watch(s.Thread)
			r := h.stop("k", s.ID)
			w.expect("a stop", effects{
				Commits: 1, Account: []string{"task"}, Audit: []string{"task.stop by phone"},
				Badge: store.Counters{OpenDecisions: 1},
			})
			if r.Outcome != app.Stopping || r.Task.Hold.Kind != task.HoldStop || r.Task.Hold.By != h.phone.Installation || r.Task.Hold.Reason != "enough" {
				t.Errorf("stop met %v: %+v", r.Outcome, r.Task.Hold)
			}
			check(t, c.next(h, held))
			if got := h.task(s.ID).Phase; got != c.want {
				t.Errorf("the task is %v, want %v", got, c.want)
			}
			if got := h.decision(d.ID).Status; (got == decision.Canceled) != c.want.Terminal() {
				t.Errorf("its question is %v", got)
			}
		})
	}
}

func TestStopTask_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, other := h.createTask("one"), h.createTask("two")
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	foreign := h.foreignTask(stranger, loner)
	h.stop("k", s.ID)
	for name, c := range map[string]struct {
		do   app.StopTask
		want error
	}{
		"reused key":          {app.StopTask{Key: "k", Task: other.ID}, app.ErrKeyReused},
		"foreign task":        {app.StopTask{Key: "f", Task: foreign.ID}, store.ErrNotFound},
		"task that never was": {app.StopTask{Key: "n", Task: s.ID[:len(s.ID)-26] + "00000000000000000000000000"}, store.ErrNotFound},
		"malformed":           {app.StopTask{Key: "m", Task: "tsk"}, store.ErrNotFound},
	} {
		_, err := h.app.StopTask(t.Context(), h.phone.Principal, c.do)
		sameNamed(t, name, err, c.want)
	}
	if h.task(other.ID).Phase != task.Ready {
		t.Error("another task was stopped")
	}
}
