package app_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

func (h *harness) address() (a push.Address, found bool) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		all, err := tx.Addresses()
		if len(all) > 0 {
			a, found = all[0], true
		}
		return err
	})
	return a, found
}

// What a vendor's answer makes of the row and of the address, and what the
// device hears of it.
func TestOutbox_Verdicts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict push.Verdict
		deadAt  time.Duration // after the registration
		renew   bool          // the app registers again while the push is out
		state   push.State
		reason  string
		address push.AddressState
		health  store.PushHealth
		least   time.Duration // until the row is due again
	}{
		"gone, newer than the registration": {verdict: push.Verdict{Class: push.Dead, Reason: "Unregistered"}, deadAt: time.Second, state: push.DeadAddress, reason: "Unregistered", address: push.AddressDead, health: store.PushDead},
		"gone, older than the registration": {verdict: push.Verdict{Class: push.Dead, Reason: "Unregistered"}, deadAt: -time.Hour, state: push.Retry, reason: "Unregistered", address: push.AddressOK, health: store.PushNone},
		"gone, but registered anew":         {verdict: push.Verdict{Class: push.Dead, Reason: "Unregistered"}, deadAt: time.Second, renew: true, state: push.Retry, reason: "Unregistered", address: push.AddressOK, health: store.PushNone},
		"slow down":                         {verdict: push.Verdict{Class: push.SlowAll, Reason: "TooManyRequests", RetryAfter: 10 * time.Minute}, state: push.Retry, reason: "TooManyRequests", address: push.AddressOK, health: store.PushNone, least: 10 * time.Minute},
		"busy, come again":                  {verdict: push.Verdict{Class: push.Backoff, Reason: "ServiceUnavailable", RetryAfter: 7 * time.Second}, state: push.Retry, reason: "ServiceUnavailable", address: push.AddressOK, health: store.PushNone, least: 7 * time.Second},
		"our credentials":                   {verdict: push.Verdict{Class: push.Cred, Reason: "InvalidProviderToken"}, state: push.Pending, reason: "InvalidProviderToken", address: push.AddressOK, health: store.PushNone, least: 30 * time.Second},
		"our bug":                           {verdict: push.Verdict{Class: push.Bug, Reason: "PayloadTooLarge"}, state: push.Rejected, reason: "PayloadTooLarge", address: push.AddressOK, health: store.PushNone},
		"no answer":                         {verdict: push.Verdict{Class: push.Ambiguous, Reason: "timeout"}, state: push.Retry, reason: "timeout", address: push.AddressOK, health: store.PushNone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			sent := h.newAddress(h.phone, "aa")
			_, held := h.startTask("one")
			h.ask(held, "a", decision.WriteReversible)
			h.clock.Advance(time.Minute)
			row := h.takeOne()
			if c.deadAt != 0 {
				c.verdict.DeadAt = sent.RegisteredAt.Add(c.deadAt)
			}
			if c.renew {
				h.newAddress(h.phone, "aa")
			}
			audit := h.watch("")
			got := h.settle(row, c.verdict)
			if got.State != c.state || got.Reason != c.reason {
				t.Errorf("the row is %v, %q", got.State, got.Reason)
			}
			a, found := h.address()
			if !found || a.State != c.address {
				t.Errorf("the address is %q, %v", a.State, found)
			}
			h.view(h.account, func(tx *store.Read) error {
				inst, err := tx.Installation(h.phone.Installation)
				if inst.Health != c.health {
					t.Errorf("the device hears %v", inst.Health)
				}
				return err
			})
			e := audit.look()
			if dead := c.address == push.AddressDead; dead != (len(e.Audit) == 1 && e.Audit[0] == "address.dead by server") || dead != (len(e.Account) == 1) {
				t.Errorf("left behind %+v", e)
			}
			at, ok := h.nextDue()
			if ok == got.State.Final() || ok && at.Before(h.clock.Now().Add(c.least)) {
				t.Errorf("due at %v, %v", at, ok)
			}
			// A dead address is not called again; the others are.
			h.ask(held, "b", decision.WriteReversible)
			h.view(h.account, func(tx *store.Read) error {
				rows, err := tx.Deliveries()
				if n := len(rows); (n == 2) != (c.address != push.AddressDead) {
					t.Errorf("%d rows", n)
				}
				return err
			})
		})
	}
}

// A token that is refused in its environment is tried in the other one, and
// what worked is remembered.
func TestOutbox_LearnsTheEnvironment(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.ask(held, "a", decision.WriteReversible)
	row := h.takeOne()
	if got := h.settle(row, push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}); got.State != push.Retry {
		t.Fatalf("the row is %v", got.State)
	}
	row = h.takeOne()
	m := h.message(row)
	if m.Address.Env != push.EnvSandbox {
		t.Fatalf("tried again in %q", m.Address.Env)
	}
	check(t, h.app.Outbox().Finish(t.Context(), []worker.Result{{Delivery: row, Verdict: push.Verdict{Class: push.OK}, Sent: m.Address, SentAt: h.clock.Now()}}))
	if a, _ := h.address(); a.Env != push.EnvSandbox || a.State != push.AddressOK {
		t.Errorf("learned %q, %q", a.Env, a.State)
	}
}

// Another account's login while a push is out: the vendor's word about the
// token is not about the new owner.
func TestOutbox_DeadTokenOfAnotherOwner(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.ask(held, "a", decision.WriteReversible)
	row := h.takeOne()
	h.message(row)
	theirs := h.newDevice(h.newAccount(), store.PlatformIOS)
	moved := h.newAddress(theirs, "aa")
	h.clock.Advance(time.Second)
	if got := h.settle(row, push.Verdict{Class: push.Dead, DeadAt: h.clock.Now()}); got.State != push.DeadAddress || got.Reason != outbox.ReasonMoved {
		t.Errorf("the row is %v, %q", got.State, got.Reason)
	}
	h.view(theirs.Account, func(tx *store.Read) error {
		a, err := tx.Address(moved.ID)
		if a.State != push.AddressOK {
			t.Errorf("the new owner's address is %q", a.State)
		}
		return err
	})
}
