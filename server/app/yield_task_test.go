package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

func TestYieldTask_OneCommit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	first, second := h.ask(held, "a", decision.WriteReversible), h.ask(held, "b", decision.WriteReversible)
	h.answer(h.phone, first, "approve")
	h.clock.Advance(time.Second)
	w := h.watch(s.Thread)
	phase, err := h.app.YieldTask(t.Context(), h.agent, app.YieldTask{
		Held: held, Wait: task.Wait{Decisions: []string{second.ID}},
		Checkpoint: &app.CheckpointWrite{Data: []byte("state")}, Ack: []uint64{1},
	})
	check(t, err)
	w.expect("a yield", effects{
		Commits: 1, Account: []string{"task"}, Thread: []string{"decision"},
		Badge: store.Counters{OpenDecisions: 1}, Audit: []string{"answer.delivered by agent"},
	})
	got := h.task(s.ID)
	if phase != task.Waiting || got.Phase != task.Waiting || got.Checkpoint != 1 || got.Lease.ID != "" || len(h.signals(s.ID)) != 0 {
		t.Errorf("yielded into %v: %+v", phase, got)
	}
	if h.decision(first.ID).Answer.DeliverTime.IsZero() {
		t.Error("an acknowledged answer is not delivered")
	}
	// The answer got lost: the same call says the same, though its checkpoint
	// does not follow the newest one any more.
	phase, err = h.app.YieldTask(t.Context(), h.agent, app.YieldTask{
		Held: held, Wait: task.Wait{Decisions: []string{second.ID}},
		Checkpoint: &app.CheckpointWrite{Data: []byte("state")}, Ack: []uint64{1},
	})
	if err != nil || phase != task.Waiting || h.task(s.ID).Checkpoint != 1 {
		t.Errorf("repeated: %v, %v", phase, err)
	}
	// Also after another worker has the task.
	h.answer(h.phone, second, "deny")
	h.claim("next")
	if phase, err = h.app.YieldTask(t.Context(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Decisions: []string{second.ID}}}); err != nil || phase != task.Waiting {
		t.Errorf("repeated later: %v, %v", phase, err)
	}
	if h.task(s.ID).Phase != task.Running {
		t.Error("a repeated yield took the task from its new worker")
	}
}

// Wait sets: what is there when the task yields, what comes later, and whether
// the task then runs again.
func TestYieldTask_WaitSets(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, c := range map[string]struct {
		mode   task.WaitMode
		named  int           // of three decisions
		until  time.Duration // 0 is none
		before []int         // answered before the yield
		acked  bool          // their signals are acknowledged with it
		say    bool          // a message before it
		want   task.Phase
		later  []int      // answered after it, one by one
		after  task.Phase // once all of those were
		early  task.Phase // after the first of them
	}{
		"any, none yet":                 {task.Any, 2, 0, nil, false, false, task.Waiting, []int{1}, task.Ready, task.Ready},
		"any, one before":               {task.Any, 2, 0, []int{0}, true, false, task.Ready, nil, 0, 0},
		"any, one before, not acked":    {task.Any, 2, 0, []int{0}, false, false, task.Ready, nil, 0, 0},
		"all, one before":               {task.All, 2, 0, []int{0}, true, false, task.Waiting, []int{1}, task.Ready, task.Ready},
		"all, one before, not acked":    {task.All, 2, 0, []int{0}, false, false, task.Waiting, []int{1}, task.Ready, task.Ready},
		"all, two later wake once":      {task.All, 2, 0, nil, false, false, task.Waiting, []int{1, 0}, task.Ready, task.Waiting},
		"all, both before":              {task.All, 2, 0, []int{0, 1}, true, false, task.Ready, nil, 0, 0},
		"not named, later":              {task.All, 2, 0, nil, false, false, task.Waiting, []int{2}, task.Ready, task.Ready},
		"not named, before, not acked":  {task.All, 2, 0, []int{2}, false, false, task.Ready, nil, 0, 0},
		"not named, before, acked":      {task.All, 2, 0, []int{2}, true, false, task.Waiting, []int{0}, task.Waiting, task.Waiting},
		"a message not acked":           {task.All, 2, 0, nil, false, true, task.Ready, nil, 0, 0},
		"until alone":                   {task.Any, 0, hour, nil, false, false, task.Waiting, nil, 0, 0},
		"until has passed":              {task.All, 2, -hour, nil, false, false, task.Ready, nil, 0, 0},
		"until, but a decision before":  {task.All, 1, hour, nil, false, false, task.Waiting, []int{0}, task.Ready, task.Ready},
		"until, decision not named":     {task.Any, 0, hour, nil, false, false, task.Waiting, []int{0}, task.Ready, task.Ready},
		"until, answered before, acked": {task.Any, 0, hour, []int{0}, true, false, task.Waiting, nil, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			var asked []decision.State
			for i := range 3 {
				asked = append(asked, h.ask(held, fmt.Sprint(i), decision.WriteReversible))
			}
			wait := task.Wait{Mode: c.mode}
			for _, d := range asked[:c.named] {
				wait.Decisions = append(wait.Decisions, d.ID)
			}
			if c.until != 0 {
				wait.Until = h.clock.Now().Add(c.until)
			}
			for _, i := range c.before {
				h.answer(h.phone, asked[i], "approve")
			}
			if c.say {
				h.say(s.Thread, "hello")
			}
			var acks []uint64
			if c.acked {
				for i := range c.before {
					acks = append(acks, uint64(i+1))
				}
			}
			if got := h.sleep(held, wait, acks...); got != c.want || h.task(s.ID).Phase != c.want {
				t.Fatalf("yielded into %v, want %v", got, c.want)
			}
			for i, n := range c.later {
				h.answer(h.phone, asked[n], "approve")
				want := c.early
				if i == len(c.later)-1 {
					want = c.after
				}
				if got := h.task(s.ID).Phase; got != want {
					t.Errorf("after answer %d: %v, want %v", i, got, want)
				}
			}
			if c.want == task.Waiting && c.later == nil {
				if next := h.due(); !next.Equal(wait.Until) && c.before == nil {
					t.Errorf("due at %v, want %v", next, wait.Until)
				}
				h.clock.Set(wait.Until)
				h.due()
				signals := h.signals(s.ID)
				if got := h.task(s.ID); got.Phase != task.Ready || signals[len(signals)-1].Kind != task.WaitTimeout {
					t.Errorf("after until: %v, %+v", got.Phase, signals)
				}
				h.due()
				if len(h.signals(s.ID)) != len(signals) {
					t.Error("one timeout was told twice")
				}
			}
		})
	}
}

// A timeout that was stored for an earlier sleep does not end the next one.
func TestYieldTask_OldTimeoutDoesNotWake(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.sleep(held, task.Wait{Until: h.clock.Now().Add(time.Minute)})
	h.clock.Advance(time.Minute)
	h.due()
	again := heldBy(h.claim("again"))
	if got := h.sleep(again, task.Wait{Until: h.clock.Now().Add(time.Minute)}); got != task.Waiting {
		t.Errorf("slept into %v with the old timeout not acknowledged", got)
	}
	if len(h.signals(s.ID)) != 1 {
		t.Error("the timeout was lost")
	}
}

func TestYieldTask_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	_, otherHeld := h.startTask("two")
	others := h.ask(otherHeld, "a", decision.WriteReversible)
	h.say(s.Thread, "hello")
	unknown := &app.FieldError{Field: "wait.decision_ids", Reason: "UNKNOWN_DECISION"}
	never := others.ID[:len(others.ID)-26] + "00000000000000000000000000"
	for name, c := range map[string]struct {
		do   app.YieldTask
		want error
	}{
		"nothing to wait for":        {app.YieldTask{Ack: []uint64{1}}, task.ErrEmptyWait},
		"another task's decision":    {app.YieldTask{Wait: task.Wait{Decisions: []string{others.ID}}}, unknown},
		"decision that never was":    {app.YieldTask{Wait: task.Wait{Decisions: []string{never}}}, unknown},
		"malformed decision":         {app.YieldTask{Wait: task.Wait{Decisions: []string{"x"}}}, unknown},
		"checkpoint does not follow": {app.YieldTask{Wait: task.Wait{Until: h.clock.Now().Add(time.Hour)}, Checkpoint: &app.CheckpointWrite{Expected: 7}, Ack: []uint64{1}}, &task.CheckpointConflictError{}},
	} {
		c.do.Held = held
		w := h.watch(s.Thread)
		_, err := h.app.YieldTask(t.Context(), h.agent, c.do)
		sameNamed(t, name, err, c.want)
		w.look()
		if got := h.task(s.ID); got.Phase != task.Running || got.Checkpoint != 0 || len(h.signals(s.ID)) != 1 {
			t.Errorf("%s: the task changed: %+v", name, got)
		}
	}
}

// R24: what was said within two seconds before a sleep shows in lists.
func TestYieldTask_ShowsTheThread(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*harness, app.Held){
		"yield": func(h *harness, held app.Held) { h.sleep(held, task.Wait{Until: h.clock.Now().Add(time.Hour)}) },
		"release": func(h *harness, held app.Held) {
			_, err := h.app.ReleaseTask(h.t.Context(), h.agent, held)
			check(h.t, err)
		},
		"lost lease": func(h *harness, _ app.Held) {
			h.clock.Advance(time.Minute)
			h.due()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			w := h.watch(s.Thread)
			for i := range 2 {
				_, err := h.app.AppendItems(t.Context(), h.agent, app.AppendItems{Held: held, Items: []app.ItemDraft{
					{ClientID: fmt.Sprint(i), Role: thread.RoleAgent, Kind: thread.Message, Parts: []thread.Part{{Text: fmt.Sprint(i)}}},
				}})
				check(t, err)
			}
			w.look()
			end(h, held)
			if got := w.look().Account; len(got) != 2 {
				t.Errorf("%s showed %v, want task and thread", name, got)
			}
		})
	}
}
