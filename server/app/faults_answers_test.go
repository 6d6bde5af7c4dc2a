package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// What users of other systems report about answers: shown and not heard, heard
// twice, or taken for another.

// claude-code#52084, claude-code#55833, claude-plugins-official#1046: "Allowed"
// is shown and the agent never has it. What was recorded counts as delivered
// when the agent says so, and is told again to whoever holds the task until
// then; however often, it is done once.
func TestFault_ShownAsAllowedAndDropped(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	grant := h.give(h.phone, h.signed(h.phone, d, "approve")).Decision.Grants[0].ID
	gos := 0
	for i := range 3 {
		c := h.claim(fmt.Sprint("cut off ", i))
		if len(c.Signals) == 0 || c.Signals[0].ID != 1 || c.Signals[0].About.Answer == nil {
			t.Fatalf("worker %d was told %+v", i, c.Signals)
		}
		r, err := h.begin(heldBy(c), "send", grant)
		check(t, err)
		if r.Go {
			gos++
			h.confirm(r.Effect, 1, true, c.Task.Lease.ID)
		}
		h.restart()
		h.due()
		h.clock.Advance(lease)
		h.due()
		h.clock.Advance(task.RetryDelay(h.task(s.ID).Attempts))
		h.due()
		if !h.decision(d.ID).Answer.DeliverTime.IsZero() {
			t.Fatalf("worker %d never said that it has the answer, and it counts as delivered", i)
		}
	}
	if gos != 1 {
		t.Errorf("one answer made GO %d times", gos)
	}
	c := h.claim("hears")
	check(t, h.app.AckSignals(t.Context(), h.agent, app.AckSignals{Held: heldBy(c), Signals: []uint64{1}}))
	if h.decision(d.ID).Answer.DeliverTime.IsZero() {
		t.Error("the agent has it, and it is not delivered")
	}
	check(t, workVerbs["ReleaseTask"](h.app, h.agent, heldBy(c)))
	if again := h.claim("later"); len(again.Signals) > 0 {
		t.Errorf("told once more: %+v", again.Signals)
	}
}

// autumn PR#2903, sso-elevator#212: a double click. All clicks see the same
// success, and what they allow is done once.
func TestFault_DoubleClick(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	click := h.signed(h.phone, d, "approve")
	results := make([]app.AnswerResult, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			var err error
			if results[i], err = h.app.AnswerDecision(context.Background(), h.phone.Principal, click); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	met := map[decision.Outcome]int{}
	for _, r := range results {
		met[r.Outcome]++
		if r.Winner == nil || r.Winner.Installation != h.phone.Installation || len(r.Decision.Grants) != 1 {
			t.Errorf("met %v, won by %+v with %d grants", r.Outcome, r.Winner, len(r.Decision.Grants))
		}
	}
	if met[decision.Applied] != 1 || met[decision.Same] != 7 {
		t.Errorf("the clicks met %v", met)
	}
	if n := len(h.signals(s.ID)); n != 1 {
		t.Errorf("the agent is told %d times", n)
	}
	grant := h.decision(d.ID).Grants[0].ID
	if r, err := h.begin(held, "a", grant); err != nil || !r.Go {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := h.begin(held, "b", grant); !errors.Is(err, decision.ErrGrantUsed) {
		t.Errorf("a second effect by the same clicks: %v", err)
	}
}

// hermes-agent#84552: a denial that is only advice. However the agent says it
// anew, the denied call is asked about no more and gets no GO, not by an older
// approval and not as something harmless.
func TestFault_DenialIsOnlyAdvice(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	_, older := h.approved(held, "send", decision.WriteReversible)
	d := h.request(held, func(c *app.RequestDecision) {
		c.Name, c.Items = "again", []decision.Item{action("send", decision.WriteReversible)}
	})
	if r := h.give(h.phone, h.signed(h.phone, d, "deny")); r.Outcome != decision.Applied {
		t.Fatal(r.Outcome)
	}
	for name, change := range map[string]func(*app.RequestDecision){
		"other words":    func(c *app.RequestDecision) { c.Title, c.Reason = "A small thing", "It is harmless." },
		"other spelling": func(c *app.RequestDecision) { c.Items[0].Action.ArgsJSON = []byte(` {"size": 12.0, "name":"send"}`) },
		"another class":  func(c *app.RequestDecision) { c.Items[0].Action.Class = new(decision.ReadPublic) },
		"another item":   func(c *app.RequestDecision) { c.Items[0].ID = "other" },
	} {
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) {
			c.Name, c.Items = name, []decision.Item{action("send", decision.WriteReversible)}
			change(c)
		}))
		sameNamed(t, "asked in "+name, err, app.ErrDeniedBefore)
	}
	_, err := h.begin(held, "send", older)
	sameNamed(t, "by an older approval", err, app.ErrDeniedBefore)
	c := app.BeginEffect{Held: held, Name: "send"}
	alone(&c, new(decision.ReadPublic))
	_, err = h.app.BeginEffect(t.Context(), h.agent, c)
	sameNamed(t, "as what needs nobody's word", err, app.ErrDeniedBefore)
}

// claude-code#32493: asked though a rule allowed it. What the default of its
// class allows asks nobody, rings nowhere, and is written down all the same.
func TestFault_AskedThoughAllowed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	w := h.watch(s.Thread)
	c := app.BeginEffect{Held: held, Name: "look"}
	alone(&c, new(decision.ReadPublic))
	r, err := h.app.BeginEffect(t.Context(), h.agent, c)
	check(t, err)
	if !r.Go || r.Effect.Status != effect.Begun {
		t.Fatalf("%+v", r)
	}
	w.expect("what was allowed", effects{Commits: 1, Audit: []string{"effect.begun by agent: generation 1"}})
}
