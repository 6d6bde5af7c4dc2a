package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func (h *harness) pause(id string) task.State {
	h.t.Helper()
	r, err := h.app.PauseTask(h.t.Context(), h.phone.Principal, app.PauseTask{Key: "pause " + id, Task: id, Reason: "not now"})
	check(h.t, err)
	return r.Task
}

func (h *harness) resume(id string) task.State {
	h.t.Helper()
	r, err := h.app.ResumeTask(h.t.Context(), h.phone.Principal, app.ResumeTask{Key: "resume " + id, Task: id})
	check(h.t, err)
	return r.Task
}

func (h *harness) claimable(t *testing.T) bool {
	t.Helper()
	_, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "probe of a queue"}})
	check(t, err)
	return found
}

// R1: a pause keeps workers away and nothing else; lifting it shows what came
// about meanwhile.
func TestPauseTask_KeepsWorkersAway(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.createTask("one")
	if got := h.pause(s.ID); got.Phase != task.Ready || got.Hold.Kind != task.HoldPause || got.Hold.By != h.phone.Installation || got.Hold.Reason != "not now" {
		t.Fatalf("paused: %v %+v", got.Phase, got.Hold)
	}
	if h.claimable(t) {
		t.Fatal("a paused task was claimed")
	}
	if got := h.resume(s.ID); got.Hold.Kind != task.HoldNone {
		t.Fatalf("resumed: %+v", got.Hold)
	}
	if !h.claimable(t) {
		t.Error("a resumed task cannot be claimed")
	}
}

// An answer while the task is paused is kept: it wakes nothing yet, and the
// agent has it when the pause is over.
func TestPauseTask_AnswerWhilePaused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	h.pause(s.ID)
	if r := h.answer(h.phone, d, "approve"); r.Outcome != decision.Applied {
		t.Fatalf("the answer met %v", r.Outcome)
	}
	if got := h.task(s.ID); got.Phase != task.Ready || h.claimable(t) {
		t.Fatalf("answered while paused: %v", got.Phase)
	}
	h.resume(s.ID)
	claim, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "after the pause"}})
	check(t, err)
	if !found {
		t.Fatal("nothing to claim after the pause")
	}
	kinds := make([]task.SignalKind, 0, 2)
	for _, sig := range claim.Signals {
		kinds = append(kinds, sig.Kind)
	}
	if !slices.Equal(kinds, []task.SignalKind{task.DecisionClosed, task.HoldLifted}) {
		t.Errorf("signals %v", kinds)
	}
}

// A worker that holds the task hears the pause and gives it back; nobody else
// gets it before it is resumed.
func TestPauseTask_UnderALease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	beat := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: time.Minute})
	if got := h.pause(s.ID); got.Phase != task.Running || got.Hold.Kind != task.HoldPause {
		t.Fatalf("paused: %v %v", got.Phase, got.Hold.Kind)
	}
	if b := <-beat; b.err != nil || b.Hold.Kind != task.HoldPause {
		t.Fatalf("the worker heard %+v, %v", b.Hold, b.err)
	}
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	if h.claimable(t) {
		t.Fatal("released while paused, and claimed")
	}
	h.resume(s.ID)
	if !h.claimable(t) {
		t.Error("resumed, and nobody can claim it")
	}
}

// A lifted hold wakes a sleeping task always (R2).
func TestResumeTask_WakesASleeper(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.sleep(held, task.Wait{Until: h.clock.Now().Add(24 * time.Hour)})
	h.pause(s.ID)
	if got := h.resume(s.ID); got.Phase != task.Ready {
		t.Errorf("resumed while asleep: %v", got.Phase)
	}
}

// R7: a paused task can be stopped, an ended one is not paused, and nobody
// touches another account's.
func TestPauseTask_Edges(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.createTask("one")
	h.pause(s.ID)
	if r := h.stop("k", s.ID); r.Outcome != app.Stopped || r.Task.Phase != task.Canceled {
		t.Errorf("stopping a paused task met %v", r.Outcome)
	}
	ended := h.createTask("two")
	h.stop("k2", ended.ID)
	if got := h.pause(ended.ID); got.Hold.Kind == task.HoldPause {
		t.Error("an ended task was paused")
	}
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	foreign := h.foreignTask(stranger, loner)
	_, err := h.app.PauseTask(t.Context(), h.phone.Principal, app.PauseTask{Key: "f", Task: foreign.ID})
	sameNamed(t, "pause of a foreign task", err, store.ErrNotFound)
	_, err = h.app.ResumeTask(t.Context(), h.phone.Principal, app.ResumeTask{Key: "g", Task: foreign.ID})
	sameNamed(t, "resume of a foreign task", err, store.ErrNotFound)
}
