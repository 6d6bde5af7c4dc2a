package app_test

import (
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestReleaseTask_GivesTheTaskBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	w := h.watch(s.Thread)
	for i := range 2 { // the second is a repeat after a lost answer
		phase, err := h.app.ReleaseTask(t.Context(), h.agent, held)
		if err != nil || phase != task.Ready {
			t.Errorf("release %d: %v, %v", i, phase, err)
		}
		if i == 0 {
			w.expect("a release", effects{Commits: 1, Account: []string{"task"}})
		}
	}
	next := h.claim("next")
	if phase, err := h.app.ReleaseTask(t.Context(), h.agent, held); err != nil || phase != task.Ready {
		t.Errorf("repeated after the next claim: %v, %v", phase, err)
	}
	if h.task(s.ID).Phase != task.Running {
		t.Error("a repeated release took the task from its new worker")
	}
	// It answers only for itself.
	_, err := h.app.YieldTask(t.Context(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Until: h.clock.Now()}})
	sameError(t, err, task.ErrLeaseLost)
	_, err = h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held})
	sameError(t, err, task.ErrLeaseLost)
	_, err = h.app.ReleaseTask(t.Context(), h.agent, heldBy(next))
	check(t, err)
	// Only the last way out is remembered.
	_, err = h.app.ReleaseTask(t.Context(), h.agent, held)
	sameError(t, err, task.ErrLeaseLost)
}
