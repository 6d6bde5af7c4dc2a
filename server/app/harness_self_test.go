package app_test

import (
	"testing"

	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestHarnessStandsUp(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	if s.Phase != task.Running {
		t.Errorf("a started task is %v", s.Phase)
	}
	d := h.ask(held, "write", decision.WriteReversible)
	if d.Status != decision.Pending {
		t.Errorf("a new question is %v", d.Status)
	}
	if r := h.answer(h.phone, d, "approve"); r.Outcome != decision.Applied || len(r.Decision.Grants) != 1 {
		t.Errorf("approved: %v with %d grants", r.Outcome, len(r.Decision.Grants))
	}
	if s := h.createTask("two"); s.Phase != task.Ready {
		t.Errorf("a created task is %v", s.Phase)
	}
}
