package scenario_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// qf-studio/pilot#4411: buttons sent before a restart are dead. The server is
// stopped and started, killed and started, and the button of the push from before counts
// once.
func TestTap_ButtonFromBeforeTwoRestarts(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.onTime(h.started("Vet the packages"))
	h.server.Stop() // what it knows of the push is on disk then
	h.server.Start()
	h.server.Restart()
	if tapped := h.phones.Tap("approve"); !tapped.Counted || tapped.Result.Outcome != "APPLIED" {
		t.Fatalf("the tap met %+v", tapped)
	}
	if ended := h.finish(h.newAgent(), d); ended.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED {
		t.Errorf("the task is %s", ended.GetPhase())
	}
	h.exactly(2)
}

// R15: the worker is not dead but slow. The phone rings for what nobody knows,
// nobody else gets the task, and the late word takes the question off the phone
// again; the next worker finds it done.
func TestEffect_SlowWorkerConfirmsLate(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	counter := filepath.Join(t.TempDir(), "counter")
	w, err := h.agent.Start(h.ctx(), &v1.CreateTaskRequest{
		Title: "Write", Claim: &v1.ClaimOptions{LeaseDuration: durationpb.New(time.Second)},
	})
	h.check(err)
	alive := w.KeepAlive(h.ctx())
	d, err := w.Ask(h.ctx(), writeReport("write"))
	h.check(err)
	h.exactly(1)
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		t.Fatalf("the tap met %+v", tapped)
	}
	d, err = w.Wait(h.ctx(), d.GetId())
	h.check(err)
	var card string
	e, err := w.Effect(h.ctx(), "write", d, func(context.Context, beckon.Go) (string, error) {
		alive.Close() // it no longer says that it lives
		h.exactly(2)
		uncertain := h.effectOf(w.ID())
		card = uncertain.GetResolveDecisionId()
		if got := h.phones.State().Badge; uncertain.GetState() != v1.EffectState_EFFECT_STATE_UNCERTAIN || got != 1 {
			t.Errorf("it rang, and the effect is %s, the badge %d", uncertain.GetState(), got)
		}
		got, err := h.newAgent().Tasks.ClaimTask(h.ctx(), &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{ClaimId: "another worker"}})
		h.check(err)
		if got.GetClaim() != nil {
			t.Error("another worker got a task of which nobody knows what was done")
		}
		return "late receipt", count(counter)
	})
	h.check(err)
	if e.GetState() != v1.EffectState_EFFECT_STATE_CONFIRMED || e.GetReceipt() != "late receipt" || e.GetGeneration() != 1 {
		t.Errorf("after the late word: %+v", e)
	}
	got, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: card})
	h.check(err)
	if got.GetDecision().GetState() != v1.DecisionState_DECISION_STATE_WITHDRAWN {
		t.Errorf("the card is %s", got.GetDecision().GetState())
	}
	h.takenOff(2)
	if _, err := w.Complete(h.ctx(), nil); beckon.ReasonOf(err) != beckon.ReasonLeaseLost {
		t.Errorf("the slow worker ended a task that is not its own: %v", err)
	}
	h.sends(counter, "effect EFFECT_STATE_CONFIRMED")
	h.ran(counter, 1)
}

// takenOff waits until the phone no longer shows the n-th alert that rang.
func (h *house) takenOff(n int) {
	h.t.Helper()
	h.phones.Await("the alert to go", func(log []stack.Entry) bool {
		var rang []string
		for _, e := range log {
			switch {
			case e.Source != "phone":
			case e.Record.Kind == "rang":
				rang = append(rang, e.Record.Key)
			case e.Record.Kind == "removed" && len(rang) >= n && e.Record.Key == rang[n-1]:
				return true
			}
		}
		return false
	})
}
