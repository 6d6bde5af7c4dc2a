package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// unattended is a task for a label, and time has passed without a worker.
func (h *harness) unattended(after time.Duration) task.State {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "k", Title: "Build it", Labels: map[string]string{"os": "linux"}})
	check(h.t, err)
	h.elapse(after)
	return h.task(r.Task.ID)
}

// elapse lets time pass and does what it brings about, each thing in its time.
func (h *harness) elapse(d time.Duration) {
	h.t.Helper()
	end := h.clock.Now().Add(d)
	for next := h.due(); !next.IsZero() && !next.After(end); next = h.due() {
		if next.After(h.clock.Now()) {
			h.clock.Set(next)
		}
	}
	h.clock.Set(end)
	h.due()
}

// polls is a worker that asks for work once, with labels.
func (h *harness) polls(labels map[string]string) (app.Claim, bool) {
	h.t.Helper()
	c, found, err := h.app.ClaimTask(h.t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "poll " + h.clock.Now().String()}, Labels: labels})
	check(h.t, err)
	return c, found
}

var linux = map[string]string{"os": "linux", "gpu": "none"}

// R5: after two minutes without a worker the task says what it waits for; work
// does not go to a worker with other labels.
func TestLookForWorker_ShowsWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	since := h.clock.Now()
	s := h.unattended(2*time.Minute - time.Microsecond)
	if s.NoWorker != (task.NoWorker{}) {
		t.Fatalf("early: %+v", s.NoWorker)
	}
	if _, found := h.polls(map[string]string{"os": "mac"}); found {
		t.Fatal("another environment got it")
	}
	h.elapse(time.Microsecond)
	s = h.task(s.ID)
	if !s.NoWorker.Since.Equal(since) || s.NoWorker.For != "os=linux" || s.NoWorker.Card != "" {
		t.Fatalf("shown as %+v", s.NoWorker)
	}
	if got := h.header(s.ID); !got.WaitingSince.Equal(since) || got.WaitingFor != "os=linux" {
		t.Errorf("lists show %q since %v", got.WaitingFor, got.WaitingSince)
	}
	if _, found := h.polls(linux); !found {
		t.Fatal("its own environment did not get it")
	}
	if got := h.header(s.ID); h.task(s.ID).NoWorker != (task.NoWorker{}) || got.WaitingFor != "" || !got.WaitingSince.IsZero() {
		t.Errorf("claimed, and shown as waiting for %q", got.WaitingFor)
	}
}

// A worker that waits, or works on something else, is there.
func TestLookForWorker_WhoIsThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there func(h *harness, ctx context.Context)
		want  bool // shown as waiting
	}{
		"nobody": {func(h *harness, _ context.Context) { h.clock.Advance(3 * time.Minute) }, true},
		"polled a minute ago": {func(h *harness, _ context.Context) {
			h.clock.Advance(2 * time.Minute)
			h.polls(linux)
			h.clock.Advance(time.Minute)
		}, false},
		"polled long ago": {func(h *harness, _ context.Context) { h.polls(linux); h.clock.Advance(3 * time.Minute) }, true},
		"other labels": {func(h *harness, _ context.Context) {
			h.clock.Advance(3 * time.Minute)
			h.polls(map[string]string{"os": "mac"})
		}, true},
		"no labels":            {func(h *harness, _ context.Context) { h.clock.Advance(3 * time.Minute); h.polls(nil) }, true},
		"busy with another":    {func(h *harness, _ context.Context) { h.clock.Advance(3 * time.Minute); h.busy(linux) }, false},
		"busy, and beats":      {func(h *harness, _ context.Context) { held := h.busy(linux); h.beats(held, 9, 25*time.Second) }, false},
		"was busy and is gone": {func(h *harness, _ context.Context) { h.busy(linux); h.clock.Advance(4 * time.Minute) }, true},
		"beats after a restart": {func(h *harness, _ context.Context) {
			held := h.busy(linux)
			h.restart()
			h.beats(held, 9, 25*time.Second)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s := h.createPaused(map[string]string{"os": "linux"})
			c.there(h, context.Background())
			h.update(h.account, func(tx *store.Tx) error { // long claimable, as if it had been all the time
				s, err := tx.Task(s.ID)
				if err != nil {
					return err
				}
				s.Hold, s.ReadyTime, s.LookTime = task.Hold{Kind: task.HoldNone}, s.CreateTime, tx.Now()
				return tx.PutTask(s, true)
			})
			h.clock.Advance(time.Microsecond)
			h.due()
			if got := h.task(s.ID); !got.NoWorker.Since.IsZero() != c.want || !got.Claimable() {
				t.Errorf("claimable %v, shown as %+v", got.Claimable(), got.NoWorker)
			}
		})
	}
}

// createPaused is a task that nobody can take, not even one who only looks in.
func (h *harness) createPaused(labels map[string]string) task.State {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "paused", Title: "Build it", Labels: labels})
	check(h.t, err)
	_, err = h.app.PauseTask(h.t.Context(), h.phone.Principal, app.PauseTask{Key: "at first", Task: r.Task.ID})
	check(h.t, err)
	return r.Task
}

// busy is a worker with labels that works on a task with one of them.
func (h *harness) busy(labels map[string]string) app.Held {
	h.t.Helper()
	_, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "busy", Title: "Other", Labels: map[string]string{"os": labels["os"]}})
	check(h.t, err)
	c, found := h.polls(labels)
	if !found {
		h.t.Fatal("nothing to be busy with")
	}
	return heldBy(c)
}

func (h *harness) beats(held app.Held, n int, every time.Duration) {
	h.t.Helper()
	for range n {
		h.clock.Advance(every)
		_, err := h.app.Heartbeat(h.t.Context(), h.agent, app.Heartbeat{Held: held})
		check(h.t, err)
	}
}

// stalled is the open question about a task without a worker.
func (h *harness) stalled(id string) decision.State {
	h.t.Helper()
	card := h.task(id).NoWorker.Card
	if card == "" {
		h.t.Fatal("nobody is asked")
	}
	return h.decision(card)
}

// R5, R9: after an hour the person is called, once; told to wait, the server
// asks again after a day; told to stop, the task ends.
func TestLookForWorker_AsksAfterAnHour(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s := h.unattended(time.Hour - time.Microsecond)
	w := h.watch(s.Thread)
	if s.NoWorker.Card != "" {
		t.Fatal("asked early")
	}
	h.elapse(time.Microsecond)
	d := h.stalled(s.ID)
	if e := w.look(); len(e.Outbox) != 1 || e.Badge.OpenDecisions != 1 {
		t.Fatalf("the person was not called once: %+v", e)
	}
	if d.Kind != decision.Stalled || d.About != s.ID || d.Status != decision.Pending || !d.ExpireTime.IsZero() {
		t.Errorf("asked %+v", d)
	}
	h.elapse(5 * time.Hour)
	if again := h.stalled(s.ID); again.ID != d.ID || again.Revision != 1 {
		t.Errorf("asked again: %+v", again)
	}
	if r := h.answer(h.phone, d, decision.ExitKeepWaiting); r.Outcome != decision.Applied {
		t.Fatalf("keep waiting met %v", r.Outcome)
	}
	if got := h.task(s.ID); !got.Claimable() || got.NoWorker.Card != "" || got.NoWorker.For != "os=linux" {
		t.Fatalf("told to wait: %+v", got.NoWorker)
	}
	h.elapse(24*time.Hour - time.Microsecond)
	if got := h.task(s.ID); got.NoWorker.Card != "" {
		t.Fatal("asked again before a day has passed")
	}
	h.elapse(time.Microsecond)
	again := h.stalled(s.ID)
	if again.ID == d.ID {
		t.Fatal("the same card")
	}
	if r := h.answer(h.phone, again, decision.ExitStop); r.Outcome != decision.Applied {
		t.Fatalf("stop met %v", r.Outcome)
	}
	if got := h.task(s.ID); got.Phase != task.Canceled {
		t.Errorf("told to stop: %v", got.Phase)
	}
}

// The question goes when there is nothing left to ask, and takes its alert back.
func TestLookForWorker_TheQuestionGoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(h *harness, s task.State)
		want task.Phase
	}{
		"claimed": {func(h *harness, _ task.State) { h.polls(linux) }, task.Running},
		"held":    {func(h *harness, s task.State) { h.pause(s.ID) }, task.Ready},
		"stopped": {func(h *harness, s task.State) {
			_, err := h.app.StopTask(h.t.Context(), h.phone.Principal, app.StopTask{Key: "stop", Task: s.ID})
			check(h.t, err)
		}, task.Canceled},
		"unlinked": {func(h *harness, _ task.State) {
			_, err := h.app.UnlinkAgent(h.t.Context(), h.phone.Principal, h.agent.Agent)
			check(h.t, err)
		}, task.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s := h.unattended(time.Hour)
			d := h.stalled(s.ID)
			c.do(h, s)
			if got := h.decision(d.ID); got.Status != decision.Withdrawn {
				t.Errorf("the question is %v", got.Status)
			}
			got := h.task(s.ID)
			if got.Phase != c.want || got.NoWorker != (task.NoWorker{}) {
				t.Errorf("the task is %v, %+v", got.Phase, got.NoWorker)
			}
			h.view(h.account, func(tx *store.Read) error {
				if n := tx.Counters().OpenDecisions; n != 0 {
					t.Errorf("%d questions count as open", n)
				}
				return nil
			})
		})
	}
}

// After a restart nothing is known of workers, so the two minutes begin anew;
// what is shown already stays.
func TestLookForWorker_AfterARestart(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.unattended(time.Minute)
	h.clock.Advance(10 * time.Minute)
	h.restart()
	h.elapse(2*time.Minute - time.Microsecond)
	if got := h.task(s.ID).NoWorker; got != (task.NoWorker{}) {
		t.Errorf("right after the start: %+v", got)
	}
	h.elapse(time.Microsecond)
	told := h.task(s.ID).NoWorker
	if told.Since.IsZero() {
		t.Fatal("never shown")
	}
	h.restart()
	h.elapse(10 * time.Minute)
	if got := h.task(s.ID).NoWorker; got != told {
		t.Errorf("another start changed what is shown from %+v to %+v", told, got)
	}
}

// R6: a claimable task whose look was lost gets it back.
func TestLookForWorker_IsANextMover(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.unattended(0)
	h.update(h.account, func(tx *store.Tx) error {
		lost := s
		lost.LookTime = time.Time{}
		return tx.PutTask(lost, false)
	})
	stuck, err := h.app.FindStuck(t.Context())
	check(t, err)
	if len(stuck) != 1 || stuck[0].Mover != task.MoverQueue {
		t.Errorf("found %+v", stuck)
	}
}
