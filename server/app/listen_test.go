package app_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// working is a task in the hands of a worker that says nothing but its
// heartbeat, for so long.
func (h *harness) working(after time.Duration) (task.State, app.Held) {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{
		Key: "quiet", Title: "Build it", SilenceAfter: after, Claim: &app.ClaimOptions{ID: "c", Length: 5 * time.Minute},
	})
	check(h.t, err)
	return r.Task, heldBy(*r.Claim)
}

// mute lets time pass in which the worker says nothing but its heartbeat.
func (h *harness) mute(held app.Held, d time.Duration) {
	h.t.Helper()
	for ; d > 0; d -= time.Minute {
		h.clock.Advance(min(d, time.Minute))
		_, err := h.app.Heartbeat(h.t.Context(), h.agent, app.Heartbeat{Held: held})
		check(h.t, err)
		h.due()
	}
}

// A worker that only beats is reminded once, then the timeline says so once,
// as something worth reading, and nobody is called.
func TestListen_RemindsThenTells(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.working(10 * time.Minute)
	w := h.watch(s.Thread)
	h.mute(held, 9*time.Minute)
	if got := h.signals(s.ID); len(got) != 0 {
		t.Fatalf("early: %+v", got)
	}
	h.mute(held, time.Minute)
	if got := h.signals(s.ID); len(got) != 1 || got[0].Kind != task.Silence {
		t.Fatalf("told %+v", got)
	}
	if e := w.look(); e.Badge.UnreadThreads != 0 || len(e.Outbox) != 0 {
		t.Errorf("a reminder of the worker reached the person: %+v", e)
	}
	h.mute(held, 10*time.Minute)
	e := w.look()
	if e.Badge.UnreadThreads != 1 || len(e.Outbox) != 0 {
		t.Errorf("after as long again: %+v", e)
	}
	if items := h.texts(s.Thread); len(items) != 1 || items[0] != "It is worked on, and has said nothing since 2026-03-04 05:06 UTC." {
		t.Errorf("the timeline says %q", items)
	}
	h.mute(held, time.Hour)
	if items, told := h.texts(s.Thread), h.signals(s.ID); len(items) != 1 || len(told) != 1 {
		t.Errorf("the same silence led to %q and %+v", items, told)
	}
	if got := h.task(s.ID); got.Phase != task.Running || got.Hold.Kind != task.HoldNone {
		t.Errorf("the task is %v, held %v", got.Phase, got.Hold.Kind)
	}
	// A word, and then another silence.
	check(t, workVerbs["UpdateProgress"](h.app, h.agent, held))
	h.mute(held, 10*time.Minute)
	if told := h.signals(s.ID); len(told) != 2 {
		t.Errorf("the next silence led to %+v", told)
	}
}

// Whatever a worker says is a word.
func TestListen_AnyWord(t *testing.T) {
	t.Parallel()
	for name, say := range workVerbs {
		if name == "Heartbeat" {
			continue // is none
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.working(10 * time.Minute)
			h.mute(held, 9*time.Minute)
			check(t, say(h.app, h.agent, held))
			if h.task(s.ID).Phase != task.Running {
				return // nobody has to say anything any more
			}
			h.mute(held, 5*time.Minute)
			if told := h.signals(s.ID); len(told) != 0 {
				t.Errorf("reminded in spite of a word: %+v", told)
			}
		})
	}
	h := newHarness(t)
	s, held := h.working(10 * time.Minute)
	h.mute(held, 9*time.Minute)
	h.ask(held, "a", 2)
	h.mute(held, 5*time.Minute)
	if told := h.signals(s.ID); len(told) != 0 {
		t.Errorf("reminded in spite of a question: %+v", told)
	}
}

// Without a word of its own a task listens for half an hour, and for as long
// again after a start of the server.
func TestListen_DefaultAndDowntime(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.working(0)
	if s.SilenceAfter != 30*time.Minute {
		t.Fatalf("listens for %s", s.SilenceAfter)
	}
	h.clock.Advance(time.Hour)
	h.restart()
	h.due()
	h.mute(held, 29*time.Minute)
	if told := h.signals(s.ID); len(told) != 0 {
		t.Errorf("reminded of the time in which it could not be heard: %+v", told)
	}
	h.mute(held, time.Minute)
	if told := h.signals(s.ID); len(told) != 1 {
		t.Errorf("told %+v", told)
	}
}

// texts are the words of a timeline.
func (h *harness) texts(id string) []string {
	h.t.Helper()
	var out []string
	h.view(h.account, func(tx *store.Read) error {
		items, _, err := tx.Items(id, 0, 100, 1<<20)
		for _, it := range items {
			out = append(out, it.Parts[0].Text)
		}
		return err
	})
	return out
}
