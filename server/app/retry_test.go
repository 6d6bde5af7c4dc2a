package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
)

// lostAgain is a task that lost its lease twice in a row.
func (h *harness) lostAgain() task.State {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), h.agent, app.CreateTask{Key: "k", Title: "one"})
	check(h.t, err)
	for i := range 2 {
		h.claim(fmt.Sprint("dies", i))
		h.clock.Advance(lease)
		h.due()
	}
	return h.task(r.Task.ID)
}

// header is what lists show of a task.
func (h *harness) header(id string) store.TaskHeader {
	h.t.Helper()
	var header store.TaskHeader
	h.view(h.account, func(tx *store.Read) error {
		put, _, err := tx.Entities(changelog.AccountScope, changelog.Key{}, 1<<20)
		for _, e := range put {
			if e.Kind == changelog.TaskHeader && e.ID == id {
				body, failed := store.DecodeEntity(e.Kind, e.Body)
				check(h.t, failed)
				header = body.(store.TaskHeader)
			}
		}
		return err
	})
	return header
}

// R4: the second worker that is lost in a row makes the task wait, visibly, and
// nothing is said to the agent when the wait is over.
func TestRetry_LaterEachTime(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.lostAgain()
	again := h.clock.Now().Add(5 * time.Second)
	if s.Phase != task.Waiting || !s.RetryTime().Equal(again) {
		t.Fatalf("%v, tried again at %v, want %v", s.Phase, s.RetryTime(), again)
	}
	if got := h.header(s.ID).RetryTime; !got.Equal(again) {
		t.Errorf("lists say it is tried again at %v", got)
	}
	h.clock.Advance(5*time.Second - time.Microsecond)
	if next := h.due(); !next.Equal(again) {
		t.Errorf("next due at %v", next)
	}
	h.clock.Advance(time.Microsecond)
	h.due()
	if c := h.claim("again"); c.Task.ID != s.ID || len(c.Signals) != 0 || c.Task.Attempts != 2 {
		t.Errorf("claimed %q with signals %v after %d attempts", c.Task.Title, c.Signals, c.Task.Attempts)
	}
	h.clock.Advance(lease)
	h.due()
	if got, want := h.task(s.ID).RetryTime(), h.clock.Now().Add(30*time.Second); !got.Equal(want) {
		t.Errorf("after the third one it is tried again at %v, want %v", got, want)
	}
}

// A person who writes does not wait for the pause to end.
func TestRetry_AMessageEndsIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.lostAgain()
	h.say(s.Thread, "now, please")
	if got := h.task(s.ID); got.Phase != task.Ready || got.Attempts != 2 {
		t.Errorf("%v after %d attempts", got.Phase, got.Attempts)
	}
	if next := h.due(); next.Equal(s.RetryTime()) {
		t.Error("the end of the pause is still due")
	}
}

// A hold during the pause lets the pause run out, and only then matters.
func TestRetry_UnderAHold(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.lostAgain()
	h.pause(s.ID)
	h.clock.Advance(5 * time.Second)
	h.due()
	if got := h.task(s.ID); got.Phase != task.Ready || got.Claimable() {
		t.Errorf("%v, claimable %v", got.Phase, got.Claimable())
	}
}
