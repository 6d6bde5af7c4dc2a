package app_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// What users of other systems report as broken, where one verb's tests do not
// show it. Each test is named after the fault.

// librefang#3611, PraisonAI#2326: pending approvals lived in memory.
func TestFault_PendingApprovalsOnlyInMemory(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	h.restart()
	h.restart()
	if r := h.give(h.phone, h.signed(h.phone, d, "approve")); r.Outcome != decision.Applied {
		t.Fatalf("after a restart the answer met %v", r.Outcome)
	}
	h.restart()
	c := h.claim("c")
	if c.Task.ID != s.ID || len(c.Signals) != 1 || c.Signals[0].About.Answer == nil {
		t.Errorf("claimed %q with %+v", c.Task.Title, c.Signals)
	}
	if _, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "again"}}); found || err != nil {
		t.Errorf("one answer woke it twice: %v %v", found, err)
	}
	if got := h.audited(h.account, "decision.answered"); len(got) != 1 {
		t.Errorf("one answer is in the audit as %v", got)
	}
}

// trigger.dev#2295, temporal-sa/money-transfer-demo#8: an answer that falls between
// asking and sleeping is never lost, whichever comes first.
func TestFault_AnswerBeforeTheWait(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 100 {
		s, held := h.startTask(fmt.Sprint("task ", i))
		var asked []decision.State
		wait := task.Wait{Mode: task.WaitMode(1 + rng.IntN(2))}
		for j := range 1 + rng.IntN(3) {
			d := h.request(held, func(c *app.RequestDecision) {
				c.Name, c.Items = fmt.Sprint(j), []decision.Item{action(fmt.Sprint(j), decision.WriteReversible)}
			})
			asked, wait.Decisions = append(asked, d), append(wait.Decisions, d.ID)
		}
		var wg sync.WaitGroup
		wg.Go(func() { h.sleep(held, wait) })
		for _, d := range asked {
			wg.Go(func() { h.answer(h.phone, d, "approve") })
		}
		wg.Wait()
		if got := h.task(s.ID); got.Phase != task.Ready {
			t.Fatalf("schedule %d: answered, and the task is %v, waiting for %+v", i, got.Phase, got.Wait)
		}
		if n := len(h.signals(s.ID)); n != len(asked) {
			t.Fatalf("schedule %d: %d signals of %d answers", i, n, len(asked))
		}
		h.stop(fmt.Sprint(i), s.ID)
	}
}

// claude-remote-approver#8: the host gave up before the person answered. The
// late answer approves nothing and says so; the same question again is a new
// card.
func TestFault_HostGaveUpBeforeThePerson(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	d := h.request(held)
	h.withdraw(d.ID)
	if r := h.give(h.phone, h.signed(h.phone, d, "approve")); r.Outcome != decision.Closed || len(r.Decision.Grants) != 0 {
		t.Errorf("the late answer met %v with %d grants", r.Outcome, len(r.Decision.Grants))
	}
	if again := h.request(held, func(c *app.RequestDecision) { c.Name = "again" }); again.ID == d.ID || again.Status != decision.Pending {
		t.Errorf("asked again: %v", again.Status)
	}
}

// settleEffects answers what is still asked about the effects of a task, and expects
// that nothing is left open then.
func (h *harness) settleEffects(id string) {
	h.t.Helper()
	all, err := h.app.ListEffects(h.t.Context(), h.phone.Principal, app.ListEffects{Task: id, Limit: 50})
	check(h.t, err)
	for _, e := range all {
		if e.Status == effect.Uncertain {
			h.resolve(h.decision(e.Card), "happened")
			e = h.effect(e.ID)
		}
		if e.Unsettled() {
			h.t.Errorf("%s is %s, open: %v, and nobody can settle it", e.Key, e.Status, e.Open())
		}
	}
}

// paperclip#13640: from wherever a task is, a person reaches its end.
func TestFault_NoExit(t *testing.T) {
	t.Parallel()
	for name, reach := range map[string]func(h *harness, s task.State, held app.Held){
		"running": func(*harness, task.State, app.Held) {},
		"waiting": func(h *harness, _ task.State, held app.Held) {
			h.sleep(held, task.Wait{Decisions: []string{h.request(held).ID}})
		},
		"ready, nobody works": func(h *harness, _ task.State, held app.Held) {
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		},
		"lost while asking": func(h *harness, _ task.State, held app.Held) {
			h.request(held)
			h.clock.Advance(lease)
			h.due()
		},
		"already stopping": func(h *harness, s task.State, _ app.Held) { h.stop("first", s.ID) },
		"paused": func(h *harness, s task.State, held app.Held) {
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
			h.pause(s.ID)
		},
		"in the middle of an effect": func(h *harness, _ task.State, held app.Held) { h.begun(held, "send") },
		"in review":                  func(h *harness, _ task.State, held app.Held) { h.lost(held, "send") },
		"in review over a pause": func(h *harness, s task.State, held app.Held) {
			h.pause(s.ID)
			h.resume(s.ID)
			h.lost(held, "send")
			h.pause(s.ID)
		},
		"told to do it": func(h *harness, _ task.State, held app.Held) {
			_, d := h.lost(held, "send")
			h.resolve(d, "do_it")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			reach(h, s, held)
			h.stop("k", s.ID)
			h.clock.Advance(time.Hour)
			h.due()
			if got := h.task(s.ID); !got.Phase.Terminal() {
				t.Errorf("stopped, and still %v", got.Phase)
			}
			h.settleEffects(s.ID)
			if next := h.due(); !next.IsZero() {
				t.Errorf("an ended task is due at %v", next)
			}
		})
	}
}
