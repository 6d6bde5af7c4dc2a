package app_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// happy#656, #765: "not found or already resolved", for ever. Whoever is late
// hears what won, by whom and when.
func TestFault_AlreadyResolvedLoop(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	_, held := h.startTask("one")
	d := h.request(held)
	h.give(h.phone, h.signed(h.phone, d, "approve"))
	at := h.clock.Now()
	h.clock.Advance(time.Minute)
	for option, want := range map[string]decision.Outcome{"approve": decision.Same, "deny": decision.Conflict} {
		for range 2 {
			r := h.give(tablet, h.signed(tablet, d, option))
			if r.Outcome != want || r.Winner == nil || r.Winner.Installation != h.phone.Installation || !r.Winner.Time.Equal(at) {
				t.Errorf("%s met %v, winner %+v", option, r.Outcome, r.Winner)
			}
		}
	}
}

// CopilotKit#2235: an earlier result was taken as the answer to another
// question.
func TestFault_AnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	first, second := h.numbered(held, 1), h.numbered(held, 2)
	crossed := h.signed(h.phone, first, "approve")
	crossed.Decision = second.ID
	_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, crossed)
	sameNamed(t, "under the other's id", err, app.ErrProof)
	crossed = reply(t, first, "approve")
	crossed.Decision = second.ID
	if r := h.give(h.phone, h.byPhone(crossed)); r.Outcome != decision.Stale {
		t.Errorf("with the other's digest it met %v", r.Outcome)
	}
	c := reply(t, second, "approve")
	c.Items[0].Item = first.Items[0].ID
	_, err = h.app.AnswerDecision(t.Context(), h.phone.Principal, h.byPhone(c))
	sameNamed(t, "to the other's item", err, &decision.InvalidError{Field: "items[0].item_id", Reason: "ITEMS_DIFFER"})
	if h.decision(first.ID).Status != decision.Pending || h.decision(second.ID).Status != decision.Pending {
		t.Error("a crossed answer was taken")
	}
}

// margince PR#1689: one call asked for four approvals, and a grant of one task
// let another run.
func TestFault_FourApprovalsForOneCall(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() { ids[i] = h.request(held, func(c *app.RequestDecision) { c.Name = fmt.Sprint(i) }).ID })
	}
	wg.Wait()
	for _, id := range ids[1:] {
		if id != ids[0] {
			t.Fatalf("%d cards for one call", len(ids))
		}
	}
	d := h.decision(ids[0])
	grant := h.give(h.phone, h.signed(h.phone, d, "approve")).Decision.Grants[0].ID
	_, other := h.startTask("two")
	_, err := h.begin(other, "e", grant)
	sameNamed(t, "in another task", err, store.ErrNotFound)
}

// claude-code#52760, opencompany#372: a card that said "Glob" and nothing else.
func TestFault_NothingToLookAt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	for _, args := range []string{"", " ", "null"} {
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) { c.Items[0].Action.ArgsJSON = []byte(args) }))
		if err == nil {
			t.Errorf("arguments %q were put up for approval", args)
		}
	}
}

// hermes-agent#81048, agent-os#1563: a timeout was recorded as a person's no.
// breeze#3090: the agent was told "will run once approved" afterwards.
func TestFault_SilenceIsADenial(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = 20 * time.Second })
	w := h.watch(s.Thread)
	h.clock.Advance(20 * time.Second)
	// The end counts from its second on, whether or not anybody has noted it.
	if r := h.give(h.phone, h.signed(h.phone, d, "approve")); r.Outcome != decision.TooLate || r.Decision.Grants != nil {
		t.Errorf("at its end an approval met %v", r.Outcome)
	}
	h.due()
	w.expect("silence", effects{
		Commits: 1, Account: []string{"decision", "counters"}, Thread: []string{"decision"},
		Audit: []string{"decision.closed by server: EXPIRED"},
	})
	got, err := h.app.WaitDecision(t.Context(), h.agent, d.ID, time.Minute)
	if err != nil || got.Status != decision.Expired || got.Answer != nil || got.Denied() != nil {
		t.Errorf("the agent hears %v, %v", got.Status, err)
	}
	if again := h.request(held, func(c *app.RequestDecision) { c.Name = "again" }); again.ID == d.ID {
		t.Error("the same question could not be asked again")
	}
}

// curie#2885, aws sample-autonomous-cloud-coding-agents#113: asked again after a
// no. hermes-agent#84552: the same, in other words.
func TestFault_AskedAgainAfterANo(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.give(h.phone, h.signed(h.phone, d, "deny"))
	reworded := func(held app.Held, name string) error {
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) {
			c.Name, c.Title, c.Reason = name, "Only this once, please", "It is needed after all."
			c.Items[0].Question = "Would you mind?"
			c.Items[0].Options = []decision.Option{{ID: "sure", Label: "Sure", Kind: decision.AllowOnce}, {ID: "not", Label: "Rather not", Kind: decision.RejectOnce}}
		}))
		return err
	}
	w := h.watch(s.Thread)
	sameNamed(t, "reworded", reworded(held, "b"), app.ErrDeniedBefore)
	w.expect("asking again", effects{})
	act := *d.Items[0].Action
	_, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "e", Attempt: "1", Action: &act})
	sameNamed(t, "done without asking", err, app.ErrDeniedBefore)
	// Another task may ask, and this one once the person has written.
	_, other := h.startTask("two")
	check(t, reworded(other, "c"))
	h.say(s.Thread, "Go ahead and ask.")
	check(t, reworded(held, "d"))
}
