package app_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
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

// A refusal that may be our mistake ends the row and leaves the address, marked,
// until it is taken again or found to be dead.
func TestOutbox_B11_SuspectIsKeptUntilItIsJudged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	send := func(name string, v push.Verdict) push.Delivery {
		t.Helper()
		h.clock.Advance(time.Second)
		h.ask(held, name, decision.WriteReversible)
		return h.settle(h.takeOne(), v)
	}
	health := func(want push.AddressState, told store.PushHealth) {
		t.Helper()
		a, _ := h.address()
		h.view(h.account, func(tx *store.Read) error {
			inst, err := tx.Installation(h.phone.Installation)
			if a.State != want || inst.Health != told {
				t.Errorf("the address is %q and the device hears %v", a.State, inst.Health)
			}
			return err
		})
	}
	refused := push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}
	send("a", refused)
	row := h.takeOne()
	check(t, h.app.Outbox().Finish(t.Context(), []worker.Result{{Delivery: row, Verdict: refused, Sent: h.message(row).Address, SentAt: h.clock.Now()}}))
	if got := h.delivery(row); got.State != push.Doubted || got.Reason != "BadDeviceToken" || got.Attempt != 2 {
		t.Errorf("refused in both: %+v", got)
	}
	health(push.AddressSuspect, store.PushSuspect)
	lines, _ := h.told(app.ListDeliveries{Subject: row.Decision})
	if want := "decision_required " + h.phone.Installation + " suspect: not delivered: Apple refused the address (BadDeviceToken); it is kept, because the mistake may be ours"; len(lines) != 1 || lines[0] != want {
		t.Errorf("told %q", lines)
	}
	send("b", push.Verdict{Class: push.OK})
	health(push.AddressOK, store.PushOK)
	if got := send("c", push.Verdict{Class: push.Dead, Reason: "BadDeviceToken"}); got.State != push.DeadAddress {
		t.Errorf("found to be dead: %+v", got)
	}
	health(push.AddressDead, store.PushDead)
}

// A row whose lane is paused says so, also when nobody has looked at it since.
func TestListDeliveries_B17_APausedLane(t *testing.T) {
	t.Parallel()
	h := newHarness(t, func(c *app.Config) { c.PushPaused = func(l string) bool { return l == lane } })
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.request(held)
	lines, _ := h.told(app.ListDeliveries{})
	if want := "decision_required " + h.phone.Installation + " pending: waiting to be sent: sending to Apple is paused"; len(lines) != 1 || lines[0] != want {
		t.Errorf("told %q", lines)
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
