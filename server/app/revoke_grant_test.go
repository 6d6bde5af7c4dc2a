package app_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// R13: undo while the grant is ARMED, and the agent is told and woken; after GO
// it is too late, and the answer says since when.
func TestRevokeGrant_UndoUntilGo(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		before func(*harness, task.State, app.Held, string)
		want   app.RevokeOutcome
		state  decision.GrantState
		told   bool
	}{
		"armed": {func(*harness, task.State, app.Held, string) {}, app.GrantRevoked, decision.Void, true},
		"revoked before": {func(h *harness, _ task.State, _ app.Held, grant string) {
			_, err := h.app.RevokeGrant(h.t.Context(), h.phone.Principal, grant)
			check(h.t, err)
		}, app.GrantRevoked, decision.Void, false},
		"used": {func(h *harness, _ task.State, held app.Held, grant string) {
			_, err := h.begin(held, "send", grant)
			check(h.t, err)
		}, app.GrantTooLate, decision.Consumed, false},
		"run out": {func(h *harness, _ task.State, _ app.Held, _ string) {
			h.clock.Advance(24 * time.Hour)
			h.due()
		}, app.GrantEnded, decision.GrantExpired, false},
		"ended with its task": {func(h *harness, _ task.State, held app.Held, _ string) {
			check(h.t, workVerbs["CompleteTask"](h.app, h.agent, held))
		}, app.GrantEnded, decision.Void, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			_, grant := h.approved(held, "send", decision.WriteReversible)
			row.before(h, s, held, grant)
			told := len(h.signals(s.ID))
			used := h.clock.Now()
			h.clock.Advance(time.Second)
			r, err := h.app.RevokeGrant(t.Context(), h.phone.Principal, grant)
			check(t, err)
			if r.Outcome != row.want || r.Grant.State != row.state || len(r.AsOf) == 0 {
				t.Errorf("%d, %+v", r.Outcome, r.Grant)
			}
			if row.want == app.GrantTooLate && !r.Grant.UseTime.Equal(used) {
				t.Errorf("used at %v, told %v", used, r.Grant.UseTime)
			}
			if got := kindsOf(h.signals(s.ID)[told:]); slices.Contains(got, task.ApprovalRevoked) != row.told {
				t.Errorf("the agent was told %v", got)
			}
			if got := h.audited(h.account, "grant.revoked"); row.told && len(got) != 1 {
				t.Errorf("audit %v", got)
			}
		})
	}
}

// Another account's grant is unknown; a sleeping task is woken by the undo.
func TestRevokeGrant_WakesAndIsOnesOwn(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	_, grant := h.approved(held, "send", decision.WriteReversible)
	h.sleep(held, task.Wait{Until: h.clock.Now().Add(time.Hour)}, 1)
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	if _, err := h.app.RevokeGrant(t.Context(), stranger.Principal, grant); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("by a stranger: %v", err)
	}
	if got := h.task(s.ID); got.Phase != task.Waiting {
		t.Fatalf("%s", got.Phase)
	}
	_, err := h.app.RevokeGrant(t.Context(), h.phone.Principal, grant)
	check(t, err)
	if got := h.task(s.ID); got.Phase != task.Ready {
		t.Errorf("after the undo %s", got.Phase)
	}
}
