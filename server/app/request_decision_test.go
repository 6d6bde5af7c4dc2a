package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// question is a class 2 action to be confirmed, changed as wanted.
func question(held app.Held, change ...func(*app.RequestDecision)) app.RequestDecision {
	c := app.RequestDecision{
		Held: held, Name: "q", Kind: decision.ConfirmAction, Title: "May I?", OnExpiry: decision.TellAgent,
		Items: []decision.Item{action("it", decision.WriteReversible)},
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func action(id string, class decision.Class) decision.Item {
	return decision.Item{ID: id, Action: &decision.Action{
		App: "files", Connection: "home", Operation: "write", ArgsJSON: []byte(`{"name":"` + id + `","size":12}`), Class: &class,
	}}
}

// request asks and expects to be heard.
func (h *harness) request(held app.Held, change ...func(*app.RequestDecision)) decision.State {
	h.t.Helper()
	d, err := h.app.RequestDecision(context.Background(), h.agent, question(held, change...))
	check(h.t, err)
	return d
}

func TestRequestDecision_LeavesCardAndCall(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	h.newAddress(h.newDevice(h.account, store.PlatformIOS), "bb")
	s, held := h.startTask("one")
	h.clock.Advance(time.Second)
	w := h.watch(s.Thread)
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout, c.Reason = time.Hour, "because" })
	w.expect("a question", effects{
		Commits: 1, Account: []string{"decision", "thread", "counters"}, Thread: []string{"decision"},
		Audit:  []string{"decision.asked by agent: CONFIRM_ACTION", "alert.planned by server: decision_required"},
		Outbox: []string{"decision_required", "decision_required"},
		Badge:  store.Counters{OpenDecisions: 1},
	})
	if diff := cmp.Diff(h.decision(d.ID), d); diff != "" {
		t.Errorf("stored and returned differ:\n%s", diff)
	}
	if d.Status != decision.Pending || d.Revision != 1 || d.Class != decision.WriteReversible || d.Task != s.ID || d.Thread != s.Thread || d.Agent != h.agent.Agent {
		t.Errorf("asked %+v", d)
	}
	if !d.ExpireTime.Equal(h.clock.Now().Add(time.Hour)) || d.Asked == (decision.Digest{}) || d.Items[0].Action.Digest == (decision.Digest{}) {
		t.Errorf("expires %v, asked %x", d.ExpireTime, d.Asked)
	}
	want := []decision.Fact{
		{Label: "App", Value: "files"}, {Label: "Operation", Value: "write"}, {Label: "Connection", Value: "home"},
		{Label: "args.name", Value: "it"}, {Label: "args.size", Value: "12"}, {Label: "Risk class", Value: "2"},
	}
	if diff := cmp.Diff(want, d.Items[0].Facts); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// R12: the same name and question is the same decision, for as long as it is
// remembered and whatever became of it.
func TestRequestDecision_ReplaySafe(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	w := h.watch(s.Thread)
	for name, c := range map[string]app.RequestDecision{
		"the same call":           question(held),
		"other prose":             question(held, func(c *app.RequestDecision) { c.Title, c.Reason = "Please", "asked nicely" }),
		"the same JSON otherwise": question(held, func(c *app.RequestDecision) { c.Items[0].Action.ArgsJSON = []byte(` {"size": 12.0, "name":"\u0069t"}`) }),
		"after the lease is lost": question(app.Held{Task: s.ID, Lease: "lse_old"}),
	} {
		again, err := h.app.RequestDecision(t.Context(), h.agent, c)
		if err != nil || again.ID != d.ID {
			t.Errorf("%s: %s, %v", name, again.ID, err)
		}
	}
	e := w.look()
	if e.Account != nil || e.Audit != nil || e.Outbox != nil {
		t.Errorf("replays left behind %+v", e)
	}
	_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) { c.Items[0].Action.ArgsJSON = []byte(`{"name":"it","size":13}`) }))
	sameError(t, err, app.ErrKeyReused)
	h.answer(h.phone, d, "approve")
	if again := h.request(held); again.ID != d.ID || again.Status != decision.Resolved || len(again.Grants) != 1 || again.Grants[0].Digest != d.Items[0].Action.Digest {
		t.Errorf("after the answer: %v", again.Status)
	}
	_, err = h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held})
	check(t, err)
	if again := h.request(held); again.ID != d.ID {
		t.Error("the end of the task made it forget")
	}
	_, err = h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) { c.Name = "new" }))
	sameError(t, err, app.ErrTaskEnded)
}

// margince PR#1689: identical asks of one task are one card; two tasks never share.
func TestRequestDecision_Joins(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	d := h.request(held)
	w := h.watch(s.Thread)
	for i := range 3 {
		if other := h.request(held, func(c *app.RequestDecision) { c.Name = fmt.Sprint(i) }); other.ID != d.ID {
			t.Errorf("ask %d made another card", i)
		}
	}
	w.expect("joined asks", effects{Commits: 3, Badge: store.Counters{OpenDecisions: 1}})
	_, otherHeld := h.startTask("two")
	if other := h.request(otherHeld); other.ID == d.ID || other.Asked != d.Asked {
		t.Error("two tasks share a card")
	}
	h.answer(h.phone, d, "approve")
	if other := h.request(held, func(c *app.RequestDecision) { c.Name = "0" }); other.ID != d.ID {
		t.Error("a joined name lost its decision")
	}
	if other := h.request(held, func(c *app.RequestDecision) { c.Name = "later" }); other.ID == d.ID {
		t.Error("a closed question was joined")
	}
}

// A question whose time is over is no company, though nobody has noted it yet.
// The class is not in the digest: a card that was raised since may need more of
// the person than the one that is open.
func TestRequestDecision_DoesNotJoinALowerClass(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	h.link(func(l *store.AgentLink) { l.Ceiling = decision.Irreversible })
	as := func(name string, class decision.Class) decision.State {
		return h.request(held, func(c *app.RequestDecision) { c.Name, c.Items = name, []decision.Item{action("w", class)} })
	}
	low, raised := as("low", decision.WriteReversible), as("raised", decision.Outward)
	if raised.ID == low.ID || raised.Asked != low.Asked || raised.Class != decision.Outward {
		t.Errorf("joined %s of class %d", raised.ID, raised.Class)
	}
	if again := as("again", decision.WriteReversible); again.ID != low.ID && again.ID != raised.ID {
		t.Errorf("asked anew as %s", again.ID)
	}
}

func TestRequestDecision_DoesNotJoinTheDead(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = 10 * time.Second })
	h.clock.Advance(10 * time.Second)
	if again := h.request(held, func(c *app.RequestDecision) { c.Name = "again" }); again.ID == d.ID {
		t.Error("a question past its deadline was joined")
	}
}

// curie#2885: denied means denied in this task until the person writes in the
// thread; another task may ask.
func TestRequestDecision_DeniedBefore(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.answer(h.phone, d, "deny")
	w := h.watch(s.Thread)
	_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) { c.Name, c.Title = "again", "Reworded" }))
	sameError(t, err, app.ErrDeniedBefore)
	// Hidden among others it is the same action.
	_, err = h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) {
		c.Name, c.Items = "two", append(c.Items, action("second", decision.WriteReversible))
	}))
	sameError(t, err, app.ErrDeniedBefore)
	w.expect("refusals", effects{})
	if again := h.request(held); again.ID != d.ID || again.Status != decision.Resolved {
		t.Error("the old name does not find the denial")
	}
	_, otherHeld := h.startTask("two")
	h.request(otherHeld)
	h.say(s.Thread, "go ahead")
	if again := h.request(held, func(c *app.RequestDecision) { c.Name = "again" }); again.ID == d.ID || again.Status != decision.Pending {
		t.Error("the person wrote, and the agent still may not ask")
	}
}

func TestRequestDecision_Supersedes(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.OpenDecisionsPerTask, l.OpenDecisions = 1, 1 }))
	s, held := h.startTask("one")
	old := h.request(held)
	w := h.watch(s.Thread)
	d := h.request(held, func(c *app.RequestDecision) {
		c.Name, c.Supersedes, c.Items[0].Action.ArgsJSON = "new", old.ID, []byte(`{"name":"better"}`)
	})
	e := w.look()
	if e.Commits != 1 || e.Badge.OpenDecisions != 1 || len(e.Audit) < 2 || e.Audit[0] != "decision.closed by agent: SUPERSEDED" {
		t.Errorf("left behind %+v", e)
	}
	if got := h.decision(old.ID); got.Status != decision.Superseded || d.Status != decision.Pending {
		t.Errorf("old %v, new %v", got.Status, d.Status)
	}
	if r := h.give(h.phone, h.signed(h.phone, old, "approve")); r.Outcome != decision.Closed {
		t.Errorf("the old card could be answered: %v", r.Outcome)
	}
	_, otherHeld := h.startTask("two")
	_, err := h.app.RequestDecision(t.Context(), h.agent, question(otherHeld, func(c *app.RequestDecision) { c.Supersedes = d.ID }))
	sameError(t, err, &app.FieldError{Field: "supersedes", Reason: "UNKNOWN_DECISION"})
}

func TestRequestDecision_Quotas(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.OpenDecisionsPerTask, l.OpenDecisions = 2, 3 }))
	_, held := h.startTask("one")
	ask := func(held app.Held, n int) error {
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) {
			c.Name, c.Items = fmt.Sprint(n), []decision.Item{action(fmt.Sprint(n), decision.WriteReversible)}
		}))
		return err
	}
	check(t, ask(held, 0))
	check(t, ask(held, 1))
	sameError(t, ask(held, 2), &app.QuotaError{What: "open_decisions_of_task", Max: 2})
	_, otherHeld := h.startTask("two")
	check(t, ask(otherHeld, 0))
	sameError(t, ask(otherHeld, 1), &app.QuotaError{What: "open_decisions", Max: 3})
}

func TestRequestDecision_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	h.link(func(l *store.AgentLink) { l.Ceiling = decision.Outward })
	many := func(n int) (items []decision.Item) {
		for i := range n {
			items = append(items, action(fmt.Sprint(i), decision.WriteReversible))
		}
		return items
	}
	args := func(raw string) func(*app.RequestDecision) {
		return func(c *app.RequestDecision) { c.Items[0].Action.ArgsJSON = []byte(raw) }
	}
	for name, c := range map[string]struct {
		change func(*app.RequestDecision)
		want   error
	}{
		"above the ceiling":  {func(c *app.RequestDecision) { c.Items[0] = action("it", decision.Irreversible) }, app.ErrCeiling},
		"no items":           {func(c *app.RequestDecision) { c.Items = nil }, &decision.InvalidError{Field: "items", Reason: "LIMIT"}},
		"17 items":           {func(c *app.RequestDecision) { c.Items = many(17) }, &decision.InvalidError{Field: "items", Reason: "LIMIT"}},
		"two of class 3":     {func(c *app.RequestDecision) { c.Items = append(many(1), action("x", decision.Outward)) }, &decision.InvalidError{Field: "items", Reason: "ONE_ITEM_FROM_CLASS_3"}},
		"no class is 3":      {func(c *app.RequestDecision) { c.Items = many(2); c.Items[0].Action.Class = nil }, &decision.InvalidError{Field: "items", Reason: "ONE_ITEM_FROM_CLASS_3"}},
		"31 days":            {func(c *app.RequestDecision) { c.Timeout = 31 * 24 * time.Hour }, &decision.InvalidError{Field: "timeout", Reason: "LIMIT"}},
		"no action":          {func(c *app.RequestDecision) { c.Items[0].Action, c.Items[0].Question = nil, "q" }, &decision.InvalidError{Field: "items[0].action", Reason: "MISSING"}},
		"nothing to look at": {args(""), &decision.InvalidError{Field: "items[0].action.args_json", Reason: "MISSING"}},
		"only a yes": {func(c *app.RequestDecision) {
			c.Items[0].Options = []decision.Option{{ID: "y", Kind: decision.AllowOnce}}
		}, &decision.InvalidError{Field: "items[0].options", Reason: "NEEDS_ALLOW_AND_REJECT"}},
		"duplicate key":      {args(`{"a":1,"a":2}`), &app.FieldError{Field: "items[0].action.args_json", Reason: "DUPLICATE_KEY"}},
		"integer too large":  {args(`{"a":9007199254740993}`), &app.FieldError{Field: "items[0].action.args_json", Reason: "NUMBER_RANGE"}},
		"lone surrogate":     {args(`{"a":"\ud800"}`), &app.FieldError{Field: "items[0].action.args_json", Reason: "LONE_SURROGATE"}},
		"not an object":      {args(`[1]`), &app.FieldError{Field: "items[0].action.args_json", Reason: "NOT_OBJECT"}},
		"too deep":           {args(`{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`), &app.FieldError{Field: "items[0].action.args_json", Reason: "TOO_DEEP"}},
		"bad target":         {func(c *app.RequestDecision) { c.Items[0].Action.TargetJSON = []byte(`{`) }, &app.FieldError{Field: "items[0].action.target_json", Reason: "SYNTAX"}},
		"supersedes nothing": {func(c *app.RequestDecision) { c.Supersedes = "dec_x" }, &app.FieldError{Field: "supersedes", Reason: "UNKNOWN_DECISION"}},
	} {
		w := h.watch(s.Thread)
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, c.change))
		sameNamed(t, name, err, c.want)
		w.expect(name, effects{})
	}
	if got := h.task(s.ID); got.Phase != task.Running {
		t.Errorf("the task is %v", got.Phase)
	}
}
