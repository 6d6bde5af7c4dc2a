package app_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// offered are the ids of the ways out that a card offers.
func exits(d decision.State) (ids []string) {
	for _, o := range d.Items[0].Options {
		ids = append(ids, o.ID)
	}
	return ids
}

// lost is an effect whose worker is gone, with its card.
func (h *harness) lost(held app.Held, name string) (effect.State, decision.State) {
	h.t.Helper()
	e := h.begun(held, name)
	h.clock.Advance(lease)
	h.due()
	if e = h.effect(e.ID); e.Status != effect.Uncertain || e.Card == "" {
		h.t.Fatalf("the lease is gone, and %s is %s", name, e.Status)
	}
	return e, h.decision(e.Card)
}

// resolve answers a card of the server by one of its exits.
func (h *harness) resolve(d decision.State, exit string) {
	h.t.Helper()
	c := reply(h.t, d, exit)
	c.Key = exit + " " + d.ID
	h.giveSigned(d, c)
}

// crewAI#5802, agent-framework#3938, DashClaw#105: a side effect repeated. However the lease of a begun effect ends,
// the effect is uncertain, the task is held, and the person is called with the
// exits that make sense; nothing says GO again.
func TestUncertain_HoweverTheLeaseEnds(t *testing.T) {
	t.Parallel()
	four, three := []string{"happened", "do_it", "skip", "stop"}, []string{"happened", "skip", "stop"}
	for name, row := range map[string]struct {
		end   func(*harness, task.State, app.Held)
		exits []string
		hold  task.HoldKind
	}{
		"lost": {func(h *harness, _ task.State, _ app.Held) { h.clock.Advance(lease); h.due() }, four, task.HoldReview},
		"released": {func(h *harness, _ task.State, held app.Held) {
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, four, task.HoldReview},
		"slept on": {func(h *harness, _ task.State, held app.Held) {
			h.sleep(held, task.Wait{Until: h.clock.Now().Add(time.Hour)})
		}, four, task.HoldReview},
		"completed": {func(h *harness, _ task.State, held app.Held) {
			check(h.t, workVerbs["CompleteTask"](h.app, h.agent, held))
		}, three, task.HoldNone},
		"failed": {func(h *harness, _ task.State, held app.Held) { check(h.t, workVerbs["FailTask"](h.app, h.agent, held)) }, three, task.HoldNone},
		"stopped": {func(h *harness, s task.State, held app.Held) {
			h.stop("k", s.ID)
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, three, task.HoldStop},
		"unlinked": {func(h *harness, _ task.State, _ app.Held) {
			_, err := h.app.UnlinkAgent(h.t.Context(), h.phone.Principal, h.agent.Agent)
			check(h.t, err)
		}, three, task.HoldNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			e := h.begun(held, "send")
			w := h.watch(s.Thread)
			row.end(h, s, held)
			e = h.effect(e.ID)
			if e.Status != effect.Uncertain || !e.UncertainTime.Equal(h.clock.Now()) || e.TaskEnded != (len(row.exits) == 3) {
				t.Fatalf("%+v", e)
			}
			d := h.decision(e.Card)
			if d.Kind != decision.ResolveUncertain || d.Status != decision.Pending || d.About != e.ID || d.AboutVersion != 1 || !d.ExpireTime.IsZero() {
				t.Errorf("card %+v", d)
			}
			if diff := cmp.Diff(row.exits, exits(d)); diff != "" {
				t.Error(diff)
			}
			if d.Items[0].Action.Digest != decision.Digest(e.Digest) || d.Class != decision.WriteReversible {
				t.Errorf("the card shows another action: %+v", d.Items[0])
			}
			if got := h.task(s.ID); got.Hold.Kind != row.hold || got.Phase.Terminal() != e.TaskEnded {
				t.Errorf("task %s, hold %+v", got.Phase, got.Hold)
			}
			if got := w.look(); !slices.Contains(got.Outbox, "decision_required") || !slices.Contains(got.Audit, "effect.uncertain by server: generation 1") {
				t.Errorf("left behind %+v", got)
			}
			if _, err := h.begin(held, "send", e.Grant); !errors.Is(err, task.ErrLeaseLost) && name != "unlinked" {
				t.Errorf("begin by the old lease: %v", err)
			}
			h.clock.Advance(24 * 365 * time.Hour)
			h.due()
			if d := h.decision(e.Card); d.Status != decision.Pending {
				t.Errorf("after a year nobody may say what happened: %s", d.Status)
			}
		})
	}
}

// R15: each exit settles the effect, lets the task go on or ends it, and tells
// it; only "do it" says GO once more.
func TestUncertain_FourExits(t *testing.T) {
	t.Parallel()
	for exit, row := range map[string]struct {
		want effect.Exit
		open bool
		live bool
	}{
		"happened": {effect.Happened, false, true},
		"do_it":    {effect.DoIt, true, true},
		"skip":     {effect.Skip, false, true},
		"stop":     {effect.StopTask, false, false},
	} {
		t.Run(exit, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			e, d := h.lost(held, "send")
			if h.claimable(t) {
				t.Fatal("a task in review was claimed")
			}
			h.resolve(d, exit)
			e = h.effect(e.ID)
			if e.Status != effect.ResolvedByHuman || e.Exit != row.want || e.By != h.phone.Installation || e.Open() != row.open {
				t.Fatalf("%+v", e)
			}
			if got := h.task(s.ID); got.Phase.Terminal() == row.live || row.live && got.Hold.Kind != task.HoldNone {
				t.Fatalf("task %s, hold %+v", got.Phase, got.Hold)
			}
			if len(h.decision(d.ID).Grants) > 0 {
				t.Error("the card armed a grant beside the effect")
			}
			if !row.live {
				return
			}
			c := h.claim("again")
			if got := kindsOf(h.signals(s.ID)); !slices.Contains(got, task.EffectUncertain) || !slices.Contains(got, task.EffectSettled) || !slices.Contains(got, task.HoldLifted) {
				t.Errorf("told %v", got)
			}
			for i, want := range []bool{row.open, false} {
				r, err := h.begin(heldBy(c), "send", e.Grant)
				if err != nil || r.Go != want {
					t.Errorf("begin %d: %+v, %v", i, r, err)
				}
			}
		})
	}
}

func kindsOf(signals []task.Signal) (kinds []task.SignalKind) {
	for _, s := range signals {
		kinds = append(kinds, s.Kind)
	}
	return kinds
}

// A person's "do it" is a permission like another: it ends.
func TestUncertain_DoItEnds(t *testing.T) {
	t.Parallel()
	for later, want := range map[time.Duration]bool{24*time.Hour - time.Second: true, 24 * time.Hour: false} {
		h := newHarness(t)
		_, held := h.startTask("one")
		e, d := h.lost(held, "send")
		h.resolve(d, "do_it")
		h.clock.Advance(later)
		if r, err := h.begin(heldBy(h.claim("again")), "send", e.Grant); err != nil || r.Go != want {
			t.Errorf("after %v: %+v, %v", later, r, err)
		}
	}
}

// R15: a late truth settles the effect, withdraws the card, lifts the hold and
// wakes the task.
func TestUncertain_LateTruthWithdrawsTheCard(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		tell func(*harness, effect.State)
		want effect.Status
	}{
		"ok":      {func(h *harness, e effect.State) { h.confirm(e, 1, true, "") }, effect.Confirmed},
		"failure": {func(h *harness, e effect.State) { h.confirm(e, 1, false, "") }, effect.Failed},
		"found":   {func(h *harness, e effect.State) { h.report(e, effect.Found) }, effect.Confirmed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			e, d := h.lost(held, "send")
			w := h.watch(s.Thread)
			row.tell(h, e)
			if e = h.effect(e.ID); e.Status != row.want || e.Open() {
				t.Errorf("%+v", e)
			}
			if got := h.decision(d.ID); got.Status != decision.Withdrawn {
				t.Errorf("the card is %s", got.Status)
			}
			if got := w.look(); got.Commits != 1 || got.Badge.OpenDecisions != 0 {
				t.Errorf("left behind %+v", got)
			}
			if got := h.give(h.phone, h.signed(h.phone, d, "do_it")); got.Outcome != decision.Closed {
				t.Errorf("a late answer met %s", got.Outcome)
			}
			if r, err := h.begin(heldBy(h.claim("again")), "send", e.Grant); err != nil || r.Go {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// report says what a probe showed of the first generation.
func (h *harness) report(e effect.State, kind effect.Kind) effect.State {
	h.t.Helper()
	e, err := h.app.ReportEvidence(h.t.Context(), h.agent, app.ReportEvidence{Effect: e.ID, Generation: 1, Kind: kind, Text: "looked"})
	check(h.t, err)
	return e
}

// What a probe did not find is shown to the person and settles nothing: no rule
// calls a probe authoritative yet.
func TestReportEvidence_NotFoundIsKept(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	e, d := h.lost(held, "send")
	for range 2 {
		h.report(e, effect.NotFound)
		e = h.report(e, effect.Unknown)
	}
	if e.Status != effect.Uncertain || len(e.Evidence) != 2 || e.Evidence[0].Kind != effect.NotFound {
		t.Errorf("%+v", e)
	}
	if h.decision(d.ID).Status != decision.Pending || h.task(s.ID).Hold.Kind != task.HoldReview {
		t.Error("what was not found settled it")
	}
}

// The hold stays until nothing of the task is uncertain.
func TestUncertain_TwoEffects(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	first := h.begun(held, "first")
	second, d := h.lost(held, "second")
	h.confirm(first, 1, true, "")
	if got := h.task(s.ID); got.Hold.Kind != task.HoldReview {
		t.Fatalf("one is uncertain, and the hold is %s", got.Hold.Kind)
	}
	h.resolve(d, "skip")
	if got := h.task(s.ID); got.Hold.Kind != task.HoldNone || h.effect(second.ID).Exit != effect.Skip {
		t.Errorf("nothing is uncertain, and the hold is %s", got.Hold.Kind)
	}
}

// R7: an uncertain effect outlives its task; the card loses "do it", so what a
// screen showed before is stale, and saying what happened still works.
func TestUncertain_OutlivesItsTask(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	e, d := h.lost(held, "send")
	h.stop("k", s.ID)
	if got := h.task(s.ID); got.Phase != task.Canceled {
		t.Fatalf("stopped: %s", got.Phase)
	}
	after := h.decision(d.ID)
	if diff := cmp.Diff([]string{"happened", "skip", "stop"}, exits(after)); diff != "" || after.Status != decision.Pending || after.Revision != d.Revision+1 {
		t.Fatalf("card %s, revision %d: %s", after.Status, after.Revision, diff)
	}
	if got := h.give(h.phone, h.signed(h.phone, d, "do_it")); got.Outcome != decision.Stale {
		t.Errorf("do it, as shown before: %s", got.Outcome)
	}
	c := h.signed(h.phone, after, "do_it")
	if _, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, c); err == nil {
		t.Error("do it was taken, and nobody is there to do it")
	}
	h.resolve(after, "happened")
	if e = h.effect(e.ID); e.Exit != effect.Happened || e.Open() {
		t.Errorf("%+v", e)
	}
}

// The end of the task takes back a "do it" that nobody has used.
func TestUncertain_EndShutsDoIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	e, d := h.lost(held, "send")
	h.resolve(d, "do_it")
	h.stop("k", s.ID)
	if e = h.effect(e.ID); e.Open() || e.Exit != effect.DoIt {
		t.Errorf("%+v", e)
	}
}

// R4: downtime of the server makes nothing uncertain.
func TestUncertain_DowntimeMakesNothingUncertain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e := h.begun(held, "send")
	h.clock.Advance(24 * time.Hour)
	h.restart()
	h.due()
	if got := h.effect(e.ID); got.Status != effect.Begun {
		t.Errorf("after a day of downtime it is %s", got.Status)
	}
	if got := h.confirm(e, 1, true, held.Lease); got.Status != effect.Confirmed {
		t.Errorf("%s", got.Status)
	}
}

// While every agent is stopped, "do it" waits like any other yes; what lets
// nothing run does not.
func TestUncertain_KillSwitch(t *testing.T) {
	t.Parallel()
	for exit, want := range map[string]error{"do_it": app.ErrKillSwitch, "happened": nil, "skip": nil, "stop": nil} {
		h := newHarness(t)
		_, held := h.startTask("one")
		_, d := h.lost(held, "send")
		h.kill("k", true)
		if _, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, h.signed(h.phone, d, exit)); !errors.Is(err, want) {
			t.Errorf("%s: %v", exit, err)
		}
	}
}

// An agent cannot take back, answer or join the server's question.
func TestUncertain_NotTheAgents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	_, d := h.lost(held, "send")
	if _, err := h.app.WithdrawDecision(t.Context(), h.agent, d.ID, app.Obsolete); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("withdrawn by the agent: %v", err)
	}
	if got := h.decision(d.ID); got.Status != decision.Pending {
		t.Errorf("the card is %s", got.Status)
	}
}

// Effects are listed newest first, page by page, without their arguments.
func TestListEffects(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	for i := range 5 {
		h.clock.Advance(time.Second)
		h.begun(held, fmt.Sprint("e", i))
	}
	var names []string
	before := ""
	for {
		page, err := h.app.ListEffects(t.Context(), h.phone.Principal, app.ListEffects{Task: s.ID, Limit: 2, Before: before})
		check(t, err)
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if names, before = append(names, e.Key), e.ID; e.Action.ArgsJSON != nil {
				t.Error("arguments in a list")
			}
		}
	}
	if diff := cmp.Diff([]string{"e4", "e3", "e2", "e1", "e0"}, names); diff != "" {
		t.Error(diff)
	}
}
