package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// CopilotKit#1991: a message wakes the newest live task and closes no question.
func TestSendMessage_ToTheLiveTask(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	h.clock.Advance(time.Second)
	w := h.watch(s.Thread)
	c := app.SendMessage{Key: "k", Thread: s.Thread, Text: "Use the other one."}
	r, err := h.app.SendMessage(t.Context(), h.phone.Principal, c)
	check(t, err)
	w.expect("a message", effects{
		Commits: 1, Account: []string{"thread", "task"}, Thread: []string{"item"},
		Badge: store.Counters{OpenDecisions: 1},
	})
	want := thread.Item{
		ID: r.Item.ID, Thread: s.Thread, Task: s.ID, Position: 1, Role: thread.RolePerson, Kind: thread.Message,
		Parts: []thread.Part{{Text: c.Text}}, CreateTime: h.clock.Now(),
	}
	if diff := cmp.Diff(want, r.Item); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	sig := h.signals(s.ID)
	if got := h.task(s.ID); got.Phase != task.Ready || len(sig) != 1 || sig[0].Text != c.Text || sig[0].Item != r.Item.ID || r.Task.ID != s.ID {
		t.Errorf("the task is %v with %+v", got.Phase, sig)
	}
	if got := h.decision(d.ID).Status; got != decision.Pending {
		t.Errorf("the open question is %v", got)
	}
	again, err := h.app.SendMessage(t.Context(), h.phone.Principal, c)
	check(t, err)
	if again.Item.ID != r.Item.ID || len(h.signals(s.ID)) != 1 {
		t.Error("a repeat sent it twice")
	}
	c.Text = "other"
	_, err = h.app.SendMessage(t.Context(), h.phone.Principal, c)
	sameError(t, err, app.ErrKeyReused)
	// Of two live tasks the newest reads it.
	two, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "two", Title: "two", Thread: s.Thread})
	check(t, err)
	if got := h.say(s.Thread, "hello"); got.Task.ID != two.Task.ID || len(h.signals(s.ID)) != 1 {
		t.Errorf("the message went to %q", got.Task.Title)
	}
}

func TestSendMessage_StartsATask(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	check(t, workVerbs["CompleteTask"](h.app, h.agent, held))
	w := h.watch(s.Thread)
	r := h.say(s.Thread, "and now this")
	e := w.look()
	if e.Commits != 1 || e.Outbox != nil || len(e.Audit) != 1 || e.Audit[0] != "task.created by phone" {
		t.Errorf("left behind %+v", e)
	}
	got := h.task(r.Task.ID)
	if got.ID == s.ID || got.Thread != s.Thread || got.Agent != h.agent.Agent || got.Phase != task.Ready || string(got.Input) != "and now this" {
		t.Errorf("started %+v", got)
	}
	if h.task(s.ID).Phase != task.Completed {
		t.Error("a message reopened an ended task")
	}
	if c := h.claim("c"); c.Task.ID != r.Task.ID || len(c.Signals) != 0 {
		t.Errorf("claimed %q with %d signals", c.Task.Title, len(c.Signals))
	}
}

// R8: nobody reads it, so nothing is stored and the text stays a draft.
func TestSendMessage_Refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		noMessages, ended bool
		change            func(*harness)
		want              error
	}{
		"a wrapped command":            {true, false, nil, thread.ErrNoAgent},
		"a wrapped command that ended": {true, true, nil, thread.ErrNoAgent},
		"a revoked agent":              {false, true, func(h *harness) { h.link(func(l *store.AgentLink) { l.Revoked = true }) }, thread.ErrNoAgent},
		"too many tasks":               {false, true, func(h *harness) { h.createTask("fill") }, &app.QuotaError{What: "open_tasks", Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, withLimits(func(l *policy.Limits) { l.OpenTasks = 1 }))
			r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
				Key: "k", Title: "one", NoMessages: c.noMessages, Claim: &app.ClaimOptions{ID: "c"},
			})
			check(t, err)
			if c.ended {
				check(t, workVerbs["CompleteTask"](h.app, h.agent, heldBy(*r.Claim)))
			}
			if c.change != nil {
				c.change(h)
			}
			w := h.watch(r.Task.Thread)
			badge := w.look().Badge
			_, err = h.app.SendMessage(t.Context(), h.phone.Principal, app.SendMessage{Key: "k", Thread: r.Task.Thread, Text: "hello"})
			sameError(t, err, c.want)
			w.expect("a refused message", effects{Badge: badge})
		})
	}
}

func TestMarkRead_Merges(t *testing.T) {
	t.Parallel()
	marks := map[string]thread.ReadMark{"a": {Generation: 1, Position: 1}, "b": {Generation: 1, Position: 3}, "c": {Generation: 2, Position: 2}}
	for _, order := range []string{"abc", "cba", "bacb", "ccab"} {
		h := newHarness(t)
		s, held := h.startTask("one")
		for i := range 3 {
			h.append(held, thread.RoleAgent, thread.Message, true, string(rune('a'+i)))
		}
		var got thread.ReadMark
		for _, k := range order {
			r, err := h.app.MarkRead(t.Context(), h.phone.Principal, s.Thread, marks[string(k)])
			check(t, err)
			got = r.Mark
		}
		if diff := cmp.Diff(marks["c"], got); diff != "" {
			t.Errorf("in the order %s (-want +got):\n%s", order, diff)
		}
	}
}

func TestMarkRead_EmptiesTheBadge(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.append(held, thread.RoleAgent, thread.Message, true, "look")
	w := h.watch(s.Thread)
	r, err := h.app.MarkRead(t.Context(), h.phone.Principal, s.Thread, thread.ReadMark{Position: 99})
	check(t, err)
	w.expect("a mark", effects{Commits: 1, Account: []string{"thread", "counters"}})
	if r.Mark.Position != 1 {
		t.Errorf("a mark from a lost future reaches %d", r.Mark.Position)
	}
	h.append(held, thread.RoleAgent, thread.Message, true, "again")
	if e := w.look(); e.Badge.UnreadThreads != 1 {
		t.Errorf("a later result is read already: %+v", e)
	}
	_, err = h.app.MarkRead(t.Context(), h.phone.Principal, s.Thread, thread.ReadMark{Position: 1})
	check(t, err)
	if e := w.look(); e.Badge.UnreadThreads != 1 || e.Account != nil {
		t.Errorf("an older mark left behind %+v", e)
	}
}

// R5: work does not move to another environment by itself, also when a message
// starts it anew.
func TestSendMessage_KeepsTheEnvironment(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "one", Labels: map[string]string{"os": "linux"}, Claim: &app.ClaimOptions{ID: "claim-id"},
	})
	check(t, err)
	_, err = h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}})
	check(t, err)
	next := h.say(r.Task.Thread, "once more").Task
	if next.ID == r.Task.ID || next.Labels["os"] != "linux" {
		t.Errorf("task %s with labels %v", next.ID, next.Labels)
	}
}
