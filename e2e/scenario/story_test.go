package scenario_test

import (
	"testing"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// TestStory is the whole path once, with the built programs: a task asks and
// sleeps, the phone rings, the person approves on the lock screen, the answer
// wakes the task where it stopped, the result rings, and nothing else does.
func TestStory(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("Vet the packages")
	d := h.askAndSleep(w)
	h.exactly(1)

	tapped := h.phones.Tap("approve")
	if !tapped.Counted || tapped.Result.Outcome != "APPLIED" {
		t.Fatalf("the tap met %+v", tapped)
	}
	ended := h.finish(h.newAgent(), d)
	if ended.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED {
		t.Error("ended as", ended.GetPhase())
	}
	h.exactly(2)
	h.answeredBy(d, h.phone, v1.Surface_SURFACE_NOTIFICATION)

	// The open result is what the badge counts; the answered question is not.
	if got := h.phones.State(); got.Badge != 1 {
		t.Errorf("the badge is %d", got.Badge)
	}
}

// answeredBy checks who answered, as the person's other device sees it.
func (h *house) answeredBy(d *v1.Decision, installation string, surface v1.Surface) {
	h.t.Helper()
	got, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: d.GetId()})
	h.check(err)
	a := got.GetDecision().GetAnswer()
	if a.GetInstallationId() != installation || a.GetSurface() != surface || a.GetDeliverTime() == nil {
		h.t.Error("answered as", a)
	}
}

// Refusing on the lock screen is an answer too, and needs no more than the
// token; the agent is told that it was denied, not that nobody answered.
func TestStory_Denied(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("Vet the packages")
	d := h.askAndSleep(w)
	if tapped := h.phones.Tap("deny"); !tapped.Counted {
		t.Fatalf("the tap met %+v", tapped)
	}
	again, err := h.agent.Claim(h.ctx(), &v1.ClaimTaskRequest{})
	h.check(err)
	told := again.Signals[0].GetDecision()
	if told.GetId() != d.GetId() || told.GetAnswer().GetItems()[0].GetOptionIds()[0] != "deny" || len(told.GetGrants()) != 0 {
		t.Error("told", told)
	}
	if _, err := again.Ask(h.ctx(), writeReport("reworded")); err == nil {
		t.Error("what was denied could be asked again")
	}
	// The person has just dealt with it and there is nothing to read: no call.
	_, err = again.Complete(h.ctx(), nil, again.Signals[0].GetId())
	h.check(err)
	h.quiet(1)
}
