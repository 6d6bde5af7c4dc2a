package app_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// R13: the answer, the grant, the signal, the wake, what clients are
// told and the audit are one transaction; nobody is called.
func TestAnswerDecision_OneTransaction(t *testing.T) {
	t.Parallel()
	audited := map[string]string{"approve": "allowed", "deny": "denied"}
	for option, grants := range map[string]int{"approve": 1, "deny": 0} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			d := h.request(held)
			h.sleep(held, task.Wait{Decisions: []string{d.ID}})
			w := h.watch(s.Thread)
			h.clock.Advance(time.Second)
			r := h.give(h.phone, h.signed(h.phone, d, option))
			w.expect("an answer", effects{
				Commits: 1, Account: []string{"decision", "task", "counters"}, Thread: []string{"decision"},
				Audit: []string{"decision.answered by phone: " + audited[option], "alert.summary by server"},
			})
			got := h.decision(d.ID)
			if diff := cmp.Diff(got, r.Decision); diff != "" {
				t.Errorf("stored and returned differ:\n%s", diff)
			}
			if r.Outcome != decision.Applied || got.Status != decision.Resolved || len(got.Grants) != grants || len(r.AsOf) == 0 {
				t.Errorf("%v, %v, %d grants", r.Outcome, got.Status, len(got.Grants))
			}
			if got.Answer.Installation != h.phone.Installation || !got.Answer.Time.Equal(h.clock.Now()) || !got.Answer.DeliverTime.IsZero() {
				t.Errorf("answer %+v", got.Answer)
			}
			for _, g := range got.Grants {
				if g.State != decision.Armed || g.Digest != d.Items[0].Action.Digest || !g.ExpireTime.Equal(h.clock.Now().Add(24*time.Hour)) {
					t.Errorf("grant %+v", g)
				}
			}
			sig := h.signals(s.ID)
			if got := h.task(s.ID); got.Phase != task.Ready || !got.Answered || len(sig) != 1 || sig[0].Decision != d.ID {
				t.Errorf("the task is %v with %+v", got.Phase, sig)
			}
			// claude-code#52084: recorded is not delivered. It is delivered once
			// the agent says so, and only the first time counts.
			held = heldBy(h.claim("next"))
			if !h.decision(d.ID).Answer.DeliverTime.IsZero() {
				t.Error("a claim counts as delivery")
			}
			h.clock.Advance(time.Second)
			for range 2 {
				check(t, h.app.AckSignals(t.Context(), h.agent, app.AckSignals{Held: held, Signals: []uint64{1}}))
				h.clock.Advance(time.Second)
			}
			if got, want := h.decision(d.ID).Answer.DeliverTime, h.clock.Now().Add(-2*time.Second); !got.Equal(want) {
				t.Errorf("delivered at %v, want %v", got, want)
			}
		})
	}
}

// happy#656, happy#765: "not found or already resolved", for ever. Every outcome,
// from every state the question can be in; who comes second hears who was first.
func TestAnswerDecision_Outcomes(t *testing.T) {
	t.Parallel()
	closed := func(to string) func(*harness, app.Held, decision.State) {
		return func(h *harness, held app.Held, d decision.State) {
			switch to {
			case "withdrawn":
				_, err := h.app.WithdrawDecision(context.Background(), h.agent, d.ID, app.Obsolete)
				check(h.t, err)
			case "superseded":
				h.request(held, func(c *app.RequestDecision) { c.Name, c.Supersedes = "new", d.ID })
			case "canceled":
				check(h.t, workVerbs["CompleteTask"](h.app, h.agent, held))
			case "expired":
				h.clock.Advance(time.Hour)
				h.due()
			case "late":
				h.clock.Advance(time.Hour)
			default:
				h.give(h.phone, h.signed(h.phone, d, to))
			}
		}
	}
	for name, c := range map[string]struct {
		before func(*harness, app.Held, decision.State)
		option string
		change func(*app.AnswerDecision) // before it is signed
		want   decision.Outcome
		winner bool
		writes bool
	}{
		"approve":                    {nil, "approve", nil, decision.Applied, true, true},
		"deny":                       {nil, "deny", nil, decision.Applied, true, true},
		"approve twice":              {closed("approve"), "approve", nil, decision.Same, true, false},
		"deny twice":                 {closed("deny"), "deny", nil, decision.Same, true, false},
		"same answer, other key":     {closed("deny"), "deny", func(c *app.AnswerDecision) { c.Key = "other" }, decision.Same, true, false},
		"deny what was approved":     {closed("approve"), "deny", nil, decision.Conflict, true, false},
		"approve what was denied":    {closed("deny"), "approve", nil, decision.Conflict, true, false},
		"other words":                {closed("deny"), "deny", func(c *app.AnswerDecision) { c.Items[0].Text = "no!" }, decision.Conflict, true, false},
		"resolved, seen stale":       {closed("approve"), "approve", func(c *app.AnswerDecision) { c.Revision = 7 }, decision.Same, true, false},
		"older revision":             {nil, "approve", func(c *app.AnswerDecision) { c.Revision = 2 }, decision.Stale, false, false},
		"other digest":               {nil, "approve", func(c *app.AnswerDecision) { c.Asked[0]++ }, decision.Stale, false, false},
		"deny of another digest":     {nil, "deny", func(c *app.AnswerDecision) { c.Asked[0]++ }, decision.Stale, false, false},
		"nothing opened":             {nil, "approve", func(c *app.AnswerDecision) { c.View[0]++ }, decision.NeedsView, false, false},
		"deny needs no look":         {nil, "deny", func(c *app.AnswerDecision) { c.View[0]++ }, decision.Applied, true, true},
		"withdrawn":                  {closed("withdrawn"), "approve", nil, decision.Closed, false, false},
		"superseded":                 {closed("superseded"), "approve", nil, decision.Closed, false, false},
		"canceled":                   {closed("canceled"), "approve", nil, decision.Closed, false, false},
		"expired":                    {closed("expired"), "approve", nil, decision.TooLate, false, false},
		"deny of an expired one":     {closed("expired"), "deny", nil, decision.TooLate, false, false},
		"late, and nobody noted it":  {closed("late"), "approve", nil, decision.TooLate, false, true},
		"late deny, nobody noted it": {closed("late"), "deny", nil, decision.TooLate, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
			if c.before != nil {
				c.before(h, held, d)
			}
			first := h.decision(d.ID)
			w := h.watch(s.Thread)
			a := reply(t, d, c.option)
			if c.change != nil {
				c.change(&a)
			}
			var err error
			a.Proof, err = proof.SignAnswer(h.phone.key, h.tupleOf(h.phone, a))
			check(t, err)
			r := h.give(h.phone, a)
			if r.Outcome != c.want || (r.Winner != nil) != c.winner {
				t.Errorf("%v with winner %v, want %v", r.Outcome, r.Winner, c.want)
			}
			if r.Winner != nil && (r.Winner.Installation != h.phone.Installation || r.Winner.Label != "Phone" || !r.Winner.Time.Equal(h.clock.Now())) {
				t.Errorf("winner %+v", r.Winner)
			}
			e := w.look()
			if got := e.Account != nil; got != c.writes {
				t.Errorf("left behind %+v", e)
			}
			if c.want == decision.TooLate && c.writes {
				if diff := cmp.Diff([]string{"decision.closed by server: EXPIRED"}, e.Audit); diff != "" {
					t.Errorf("silence was logged as somebody's act (-want +got):\n%s", diff)
				}
				if got := h.decision(d.ID); got.Status != decision.Expired || got.Answer != nil {
					t.Errorf("the question is %v", got.Status)
				}
				if denied := h.deniedIn(s.ID, d); denied {
					t.Error("a late denial counts as one")
				}
			}
			if diff := cmp.Diff(first, h.decision(d.ID)); !c.writes && diff != "" {
				t.Errorf("the decision changed:\n%s", diff)
			}
		})
	}
}

// deniedIn reports whether the first action of a question is denied in a task.
func (h *harness) deniedIn(id string, d decision.State) bool {
	h.t.Helper()
	return h.deniedDigest(id, d.Items[0].Action.Digest)
}

// What a double click meets: of two answers at the same moment one
// wins, and the loser hears whose it was.
func TestAnswerDecision_TwoAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second string
		want   decision.Outcome
	}{"the same": {"approve", decision.Same}, "another": {"deny", decision.Conflict}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			tablet := h.newDevice(h.account, store.PlatformIOS)
			s, held := h.startTask("one")
			for i := range 20 {
				d := h.request(held, func(c *app.RequestDecision) { c.Name = fmt.Sprint(i) })
				answers := []app.AnswerDecision{h.signed(h.phone, d, "approve"), h.signed(tablet, d, c.second)}
				results := make([]app.AnswerResult, 2)
				var wg sync.WaitGroup
				for i, by := range []device{h.phone, tablet} {
					wg.Go(func() { results[i], _ = h.app.AnswerDecision(context.Background(), by.Principal, answers[i]) })
				}
				wg.Wait()
				first, second := results[0], results[1]
				if first.Outcome != decision.Applied {
					first, second = second, first
				}
				if first.Outcome != decision.Applied || second.Outcome != c.want {
					t.Fatalf("met %v and %v", first.Outcome, second.Outcome)
				}
				if diff := cmp.Diff(first.Winner, second.Winner); diff != "" || second.Winner == nil {
					t.Fatalf("two winners:\n%s", diff)
				}
				if got := h.decision(d.ID); got.Answer.Installation != second.Winner.Installation {
					t.Fatal("the stored answer is not the winner's")
				}
				h.say(s.Thread, "again "+d.ID) // so that what was denied may be asked again
			}
		})
	}
}

// CopilotKit#2235: an answer that names the items of another question does not
// fit this one. Nothing is half-written.
func TestAnswerDecision_DoesNotFit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Items = append(c.Items, action("second", decision.WriteReversible)) })
	for name, c := range map[string]struct {
		items []decision.AnswerItem
		want  error
	}{
		"one too few":    {[]decision.AnswerItem{{Item: "it", Options: []string{"approve"}}}, &decision.InvalidError{Field: "items", Reason: "ITEMS_DIFFER"}},
		"cross-wired":    {[]decision.AnswerItem{{Item: "it", Options: []string{"approve"}}, {Item: "other", Options: []string{"deny"}}}, &decision.InvalidError{Field: "items[1].item_id", Reason: "ITEMS_DIFFER"}},
		"two options":    {[]decision.AnswerItem{{Item: "it", Options: []string{"approve", "deny"}}, {Item: "second", Options: []string{"deny"}}}, &decision.InvalidError{Field: "items[0].option_ids", Reason: "ONE_OPTION"}},
		"unknown option": {[]decision.AnswerItem{{Item: "it", Options: []string{"approve"}}, {Item: "second", Options: []string{"maybe"}}}, &decision.InvalidError{Field: "items[1].option_ids[0]", Reason: "UNKNOWN_OPTION"}},
		"words to a yes": {[]decision.AnswerItem{{Item: "it", Options: []string{"approve"}, Text: "but"}, {Item: "second", Options: []string{"deny"}}}, &decision.InvalidError{Field: "items[0].text", Reason: "NOT_ALLOWED"}},
	} {
		w := h.watch(s.Thread)
		a := reply(t, d, "approve")
		a.Items = c.items
		_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, a)
		sameNamed(t, name, err, c.want)
		w.expect(name, effects{Badge: store.Counters{OpenDecisions: 1}})
	}
	// One of each is a grant for one.
	a := reply(t, d, "approve")
	a.Items[1].Options = []string{"deny"}
	r := h.giveSigned(d, a)
	if len(r.Decision.Grants) != 1 || r.Decision.Grants[0].Item != "it" || !h.deniedDigest(s.ID, d.Items[1].Action.Digest) || h.deniedIn(s.ID, d) {
		t.Errorf("grants %+v", r.Decision.Grants)
	}
}

func (h *harness) deniedDigest(id string, digest decision.Digest) (denied bool) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		var err error
		denied, err = tx.Denied(id, digest)
		return err
	})
	return denied
}
