package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// R20: what its own agent gives up calls nobody, leaves nothing unread and takes
// its open question along; the timeline says why.
func TestGiveUpTask_CallsNobody(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	w := h.watch(s.Thread)
	for range 2 { // the answer got lost
		phase, err := h.app.GiveUpTask(t.Context(), h.agent, held, "nobody waits any more")
		if err != nil || phase != task.Canceled {
			t.Fatalf("given up into %v: %v", phase, err)
		}
	}
	e := w.look()
	if e.Badge != (store.Counters{}) || slices.Contains(e.Outbox, "result_ready") || h.decision(d.ID).Status != decision.Canceled {
		t.Errorf("left behind %+v", e)
	}
	if !slices.Contains(e.Audit, "task.given_up by agent") {
		t.Errorf("the audit has %q", e.Audit)
	}
	items, _, err := h.app.ListItems(t.Context(), h.phone.Principal, app.ListItems{Thread: s.Thread})
	check(t, err)
	if len(items) != 1 || items[0].Notable || !strings.Contains(items[0].Parts[0].Text, "nobody waits any more") {
		t.Errorf("the timeline is %+v", items)
	}
	_, err = h.app.GiveUpTask(t.Context(), h.agent, app.Held{Task: s.ID, Lease: "lse_other"}, "x")
	sameNamed(t, "under another lease", err, task.ErrLeaseLost)
}
