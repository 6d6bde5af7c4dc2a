package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// The end of a task, however it comes about: what the person sees, whether
// anybody is called, and that a repeat after a lost answer says the same.
func TestEnd_WhatItLeavesBehind(t *testing.T) {
	t.Parallel()
	complete := func(r *task.Result) func(*harness, app.Held) (task.State, error) {
		return func(h *harness, held app.Held) (task.State, error) {
			return h.app.CompleteTask(h.t.Context(), h.agent, app.CompleteTask{Held: held, Result: r})
		}
	}
	fail := func(f task.Failure) func(*harness, app.Held) (task.State, error) {
		return func(h *harness, held app.Held) (task.State, error) {
			return h.app.FailTask(h.t.Context(), h.agent, app.FailTask{Held: held, Failure: f})
		}
	}
	for name, c := range map[string]struct {
		answered bool
		end      func(*harness, app.Held) (task.State, error)
		phase    task.Phase
		rings    bool
		kind     thread.ItemKind
		text     string
		notable  bool
	}{
		"a result":               {false, complete(&task.Result{Summary: "Built.", Body: "All of it", DataJSON: []byte(`{"n":1}`), ExitStatus: new(int32(0))}), task.Completed, true, thread.Result, "Built.", true},
		"a result after an ask":  {true, complete(&task.Result{Summary: "Built."}), task.Completed, true, thread.Result, "Built.", true},
		"nothing to read":        {false, complete(nil), task.Completed, true, thread.Notice, "Done.", true},
		"nothing after an ask":   {true, complete(nil), task.Completed, false, thread.Notice, "Done.", false},
		"a failure":              {false, fail(task.Failure{Code: "exit", Text: "Tests fail.", ExitStatus: new(int32(2))}), task.Failed, true, thread.Failure, "Tests fail.", true},
		"a failure after an ask": {true, fail(task.Failure{Code: "exit"}), task.Failed, true, thread.Failure, "exit", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			if c.answered {
				h.answer(h.phone, h.ask(held, "a", decision.WriteReversible), "approve")
			}
			h.clock.Advance(time.Second)
			w := h.watch(s.Thread)
			ended, err := c.end(h, held)
			check(t, err)
			want := effects{
				Commits: 1, Account: []string{"task", "thread"}, Thread: []string{"item"},
				Audit: []string{"task.ended by agent: " + c.phase.String()},
			}
			if c.answered {
				want.Thread = []string{"decision", "item"} // its grant is void
				want.Audit = slices.Insert(want.Audit, 0, "grant.ended by server: VOID")
			}
			if c.rings {
				want.Outbox = []string{"result_ready"}
				want.Audit = append(want.Audit, "alert.planned by server: result_ready")
			}
			if c.notable {
				want.Account = []string{"thread", "task", "counters"} // the header names the item's position
				want.Badge.UnreadThreads = 1
			}
			w.expect("the end", want)
			if ended.Phase != c.phase || !ended.EndTime.Equal(h.clock.Now()) || ended.Lease.ID != "" {
				t.Errorf("ended as %+v", ended)
			}
			if diff := cmp.Diff(h.task(s.ID), ended); diff != "" {
				t.Errorf("stored and returned differ:\n%s", diff)
			}
			items, _, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread})
			check(t, err)
			last := items[len(items)-1]
			if last.Kind != c.kind || last.Parts[0].Text != c.text || last.Notable != c.notable {
				t.Errorf("the timeline says %+v", last)
			}
			again, err := c.end(h, held)
			if err != nil || again.Phase != c.phase {
				t.Errorf("repeated: %v, %v", again.Phase, err)
			}
			if e := w.look(); e.Account != nil || e.Thread != nil || e.Audit != nil || e.Outbox != nil {
				t.Errorf("a repeat left behind %+v", e)
			}
			_, err = h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: "other"}})
			sameError(t, err, task.ErrLeaseLost)
			_, err = h.app.FailTask(t.Context(), h.agent, app.FailTask{Held: held, Failure: task.Failure{Code: "other"}})
			sameError(t, err, task.ErrLeaseLost)
		})
	}
}

// Only the end of a task closes what its agent asked, and it does so at once.
func TestEnd_ClosesQuestionsAndVoidsGrants(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	open := h.ask(held, "open", decision.WriteReversible)
	granted := h.ask(held, "granted", decision.WriteReversible)
	h.answer(h.phone, granted, "approve")
	other, otherHeld := h.startTask("other")
	kept := h.ask(otherHeld, "kept", decision.WriteReversible)
	w := h.watch(s.Thread)
	_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Ack: []uint64{1}})
	check(t, err)
	if e := w.look(); e.Commits != 1 || e.Badge.OpenDecisions != 1 {
		t.Errorf("left behind %+v", e)
	}
	if d := h.decision(open.ID); d.Status != decision.Canceled || d.CloseReason == "" || !d.CloseTime.Equal(h.clock.Now()) {
		t.Errorf("an open question is %v", d.Status)
	}
	d := h.decision(granted.ID)
	if d.Status != decision.Resolved || d.Grants[0].State != decision.Void || d.Answer.DeliverTime.IsZero() {
		t.Errorf("an approval is %v, its grant %v", d.Status, d.Grants[0].State)
	}
	if d := h.decision(kept.ID); d.Status != decision.Pending {
		t.Errorf("another task's question is %v", d.Status)
	}
	if s := h.task(other.ID); s.Phase != task.Running {
		t.Errorf("another task is %v", s.Phase)
	}
	h.view(h.account, func(tx *store.Read) error {
		th, err := tx.Thread(s.Thread)
		if len(th.Live) != 0 {
			t.Error("an ended task is still live in its thread")
		}
		return err
	})
}

func TestFailTask_ServersOwnCode(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	_, err := h.app.FailTask(t.Context(), h.agent, app.FailTask{Held: held, Failure: task.Failure{Code: task.CouldNotResume}})
	sameError(t, err, &app.FieldError{Field: "failure.code", Reason: "RESERVED"})
	if h.task(s.ID).Phase != task.Running {
		t.Error("the task ended")
	}
}
