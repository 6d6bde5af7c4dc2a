package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/sync/decision"
)

// A crash between the vendor's yes and its record sends again, under the same
// identities, so that the phone replaces and does not ring as new.
func TestOutbox_ResendKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	for name, restarted := range map[string]bool{"after its lease": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			_, held := h.startTask("one")
			h.ask(held, "a", decision.WriteReversible)
			row := h.takeOne()
			first := h.message(row)
			h.restart() // accepted by the vendor, never finished
			if restarted {
				check(t, h.app.Outbox().Recover(t.Context(), lane))
			} else {
				if len(h.take(10)) != 0 {
					t.Fatal("claimed under a living lease")
				}
				h.clock.Advance(time.Minute)
			}
			again := h.takeOne()
			second := h.message(again)
			if again.Lease == row.Lease || first.CollapseID != second.CollapseID || first.ProviderID != second.ProviderID || first.Delivery != second.Delivery {
				t.Errorf("sent as %q and %q", first.CollapseID, second.CollapseID)
			}
			// The old worker's word comes too late to count.
			if got := h.settle(row, push.Verdict{Class: push.Bug, Reason: "late"}); got.State != push.Leased {
				t.Errorf("a lost lease settled the row: %v", got.State)
			}
			if got := h.settle(again, push.Verdict{Class: push.OK}); got.State != push.Accepted {
				t.Errorf("ended as %v", got.State)
			}
		})
	}
}

// Recover touches what a worker held, and nothing else.
func TestOutbox_RecoverLeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.ask(held, "a", decision.WriteReversible)
	retry := h.settle(h.takeOne(), push.Verdict{Class: push.Backoff, RetryAfter: time.Hour})
	check(t, h.app.Outbox().Recover(t.Context(), lane))
	if diff := cmp.Diff(retry, h.delivery(retry)); diff != "" {
		t.Errorf("a waiting row changed:\n%s", diff)
	}
	if at, ok := h.nextDue(); !ok || at.Before(h.clock.Now().Add(time.Hour)) {
		t.Errorf("due at %v, %v", at, ok)
	}
}
