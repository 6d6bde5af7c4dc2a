package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// R7: a deadline is a stop by the clock. Without a lease the task is over at
// once, its questions with it, and the person is called: it was not done.
func TestDeadline_WithoutALease(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(h *harness, held app.Held) string{
		"ready": func(h *harness, held app.Held) string {
			_, err := h.app.ReleaseTask(h.t.Context(), h.agent, held)
			check(h.t, err)
			return ""
		},
		"paused": func(h *harness, held app.Held) string {
			_, err := h.app.ReleaseTask(h.t.Context(), h.agent, held)
			check(h.t, err)
			h.pause(held.Task)
			return ""
		},
		"waiting": func(h *harness, held app.Held) string {
			d := h.ask(held, "a", decision.WriteReversible)
			h.sleep(held, task.Wait{Decisions: []string{d.ID}})
			return d.ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.dated("one", time.Hour)
			asked := prepare(h, held)
			h.clock.Advance(time.Hour - time.Microsecond)
			h.due()
			if got := h.task(s.ID).Phase; got.Terminal() {
				t.Fatalf("before the deadline: %v", got)
			}
			w := h.watch(s.Thread)
			h.clock.Advance(time.Microsecond)
			h.due()
			e := w.look()
			if got := h.task(s.ID).Phase; got != task.Expired {
				t.Fatalf("after the deadline: %v", got)
			}
			if len(e.Outbox) == 0 || e.Badge.UnreadThreads != 1 {
				t.Errorf("the person was not called: %+v", e)
			}
			if asked != "" && h.decision(asked).Status != decision.Canceled {
				t.Errorf("its question is %v", h.decision(asked).Status)
			}
		})
	}
}

// With a lease the worker hears a stop; what it does then decides the end.
func TestDeadline_UnderALease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next func(h *harness, held app.Held) error
		want task.Phase
	}{
		"release": {func(h *harness, held app.Held) error {
			_, err := h.app.ReleaseTask(context.Background(), h.agent, held)
			return err
		}, task.Expired},
		"lease end": {func(h *harness, _ app.Held) error {
			h.clock.Advance(30 * time.Second)
			_, err := h.app.ProcessDue(context.Background())
			return err
		}, task.Expired},
		"complete keeps its truth": {func(h *harness, held app.Held) error {
			_, err := h.app.CompleteTask(context.Background(), h.agent, app.CompleteTask{Held: held})
			return err
		}, task.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.dated("one", 10*time.Second)
			beat := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: time.Minute})
			h.clock.Advance(10 * time.Second)
			h.due()
			if b := <-beat; b.err != nil || b.Hold.Kind != task.HoldStop {
				t.Fatalf("the worker heard %+v, %v", b.Hold, b.err)
			}
			check(t, c.next(h, held))
			if got := h.task(s.ID).Phase; got != c.want {
				t.Errorf("the task is %v, want %v", got, c.want)
			}
			if next := h.due(); !next.IsZero() {
				t.Errorf("something is still due at %v", next)
			}
		})
	}
}

// Who was stopped by a person before the deadline was stopped by the person.
func TestDeadline_AfterAStop(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.dated("one", 10*time.Second)
	h.stop("k", s.ID)
	h.clock.Advance(20 * time.Second)
	h.due()
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	if got := h.task(s.ID).Phase; got != task.Canceled {
		t.Errorf("the task is %v", got)
	}
}

func TestDeadline_InThePastIsRefused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "k", Title: "one", Deadline: h.clock.Now()})
	sameNamed(t, "a deadline that has passed", err, &app.FieldError{Field: "deadline", Reason: "INVALID"})
}

// dated makes a held task with a deadline.
func (h *harness) dated(title string, after time.Duration) (task.State, app.Held) {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{
		Key: "dated " + title, Title: title, Deadline: h.clock.Now().Add(after),
		Claim: &app.ClaimOptions{ID: "claim " + title, Length: 30 * time.Second},
	})
	check(h.t, err)
	return r.Task, app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
}

// The timeline says that the task came to nothing.
func TestDeadline_IsTold(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.dated("one", time.Minute)
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	h.clock.Advance(time.Minute)
	h.due()
	items, _, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread, Size: 10})
	check(t, err)
	if len(items) != 1 || items[0].Kind != thread.Failure {
		t.Errorf("the timeline is %+v", items)
	}
}
