package app_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestDenyAllOpen(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one, held := h.startTask("one")
	two, other := h.startTask("two")
	words := func(c *app.RequestDecision) {
		c.Kind, c.Name, c.Items = decision.Text, "words", []decision.Item{{ID: "it", Question: "Which?"}}
	}
	a, b := h.numbered(held, 1), h.numbered(held, 2)
	elsewhere, wordy := h.numbered(other, 3), h.request(other, words)
	aside := h.numbered(held, 4)
	_, err := h.app.SnoozeDecision(t.Context(), h.phone.Principal, aside.ID, 1<<40)
	check(t, err)
	deny := func(c app.DenyAllOpen) (app.DenyAllResult, error) {
		return h.app.DenyAllOpen(t.Context(), h.phone.Principal, c)
	}
	r, err := deny(app.DenyAllOpen{Key: "k", Task: one.ID, Surface: decision.SurfaceApp})
	check(t, err)
	if len(r.Denied) != 3 || len(r.Skipped) != 0 || len(r.AsOf) == 0 {
		t.Fatalf("%+v", r)
	}
	for _, d := range []decision.State{a, b, aside} {
		got := h.decision(d.ID)
		if got.Status != decision.Resolved || !got.Refuses(got.Answer.Items) || got.Answer.Installation != h.phone.Installation || got.Answer.Key != "k" || got.Grants != nil {
			t.Errorf("%s is %v: %+v", d.Key, got.Status, got.Answer)
		}
	}
	if len(h.signals(one.ID)) != 3 || h.decision(elsewhere.ID).Status != decision.Pending {
		t.Error("another task was touched, or the agent not told")
	}
	// Each is an ordinary denial: the same is refused in this task from now on.
	_, err = h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) { c.Name, c.Items = "5", []decision.Item{action("1", 2)} }))
	sameNamed(t, "asked again", err, app.ErrDeniedBefore)
	// A repeat refuses nothing that was asked since.
	later := h.numbered(held, 6)
	again, err := deny(app.DenyAllOpen{Key: "k", Task: one.ID, Surface: decision.SurfaceApp})
	if err != nil || len(again.Denied) != 3 || h.decision(later.ID).Status != decision.Pending {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = deny(app.DenyAllOpen{Key: "k"})
	sameNamed(t, "another body", err, app.ErrKeyReused)
	// The whole account: what has no plain no is told and left.
	r, err = deny(app.DenyAllOpen{Key: "all", Agent: h.agent.Agent})
	check(t, err)
	if len(r.Denied) != 2 || len(r.Skipped) != 1 || r.Skipped[0] != wordy.ID {
		t.Errorf("%+v", r)
	}
	for name, c := range map[string]app.DenyAllOpen{
		"no such task": {Key: "x", Task: two.ID[:len(two.ID)-3] + "vvv"}, "no such agent": {Key: "y", Agent: "agt_nobody"},
	} {
		_, err := deny(c)
		sameNamed(t, name, err, store.ErrNotFound)
	}
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	if r, err := h.app.DenyAllOpen(t.Context(), stranger.Principal, app.DenyAllOpen{Key: "z"}); err != nil || r.Denied != nil {
		t.Errorf("a stranger: %+v, %v", r, err)
	}
	if h.decision(wordy.ID).Status != decision.Pending {
		t.Error("a stranger denied it")
	}
}

// The end of one question may stop its task, which closes the others: a refusal
// then closes none of them again.
func TestDenyAllOpen_R10_ClosedByAnother(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	late := h.request(held, func(c *app.RequestDecision) {
		c.Name, c.Timeout, c.OnExpiry, c.Calls = "late", time.Minute, decision.StopTask, decision.Calls{Off: true}
	})
	h.clock.Advance(time.Second) // refused in the order in which they were asked
	other := h.numbered(held, 2)
	if phase := h.sleep(held, task.Wait{Mode: task.Any, Decisions: []string{late.ID}}); phase != task.Waiting {
		t.Fatalf("the task is %v", phase)
	}
	h.clock.Advance(2 * time.Minute)
	r, err := h.app.DenyAllOpen(t.Context(), h.phone.Principal, app.DenyAllOpen{Key: "k", Surface: decision.SurfaceApp})
	check(t, err)
	if got := h.task(s.ID).Phase; got != task.Canceled {
		t.Errorf("the task is %v", got)
	}
	if got := h.decision(other.ID); got.Status != decision.Canceled || got.Answer != nil || len(r.Denied) != 0 {
		t.Errorf("a question whose task has ended is %v, and %v were refused", got.Status, r.Denied)
	}
}
