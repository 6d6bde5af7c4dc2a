package outbox_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func base() push.Delivery {
	return push.Delivery{
		ID: "dlv_1", Kind: push.ResultReady, Subject: push.Subject{Task: "tsk_1", Version: 1},
		Address: "adr_1", Generation: 4, State: push.Pending,
		DueAt: t0, CreatedAt: t0, ExpiresAt: t0.Add(24 * time.Hour),
		CollapseID: "c", ProviderID: "p",
	}
}

func in(state push.State, change ...func(*push.Delivery)) push.Delivery {
	d := base()
	d.State = state
	if state == push.Leased {
		d.Lease, d.LeaseUntil = "mine", t0.Add(time.Minute)
	}
	if state == push.Retry {
		d.Attempt = 1
	}
	for _, c := range change {
		c(&d)
	}
	return d
}

func address() push.Address {
	return push.Address{
		ID: "adr_1", Token: "aa", Env: push.EnvProduction, Generation: 4,
		RegisteredAt: t0.Add(-time.Hour), State: push.AddressOK,
	}
}

func settle(v push.Verdict) outbox.Settle {
	return outbox.Settle{
		Lease: "mine", Verdict: v, Sent: address(), SentAt: t0,
		Current: outbox.AddressNow{Found: true, Owned: true, Address: address()},
	}
}

// TestStates_EveryStateAndCommand is the whole table: what each command makes
// of each state, or the error it gets.
func TestStates_EveryStateAndCommand(t *testing.T) {
	t.Parallel()
	rows := map[string]push.Delivery{
		"pending":      in(push.Pending),
		"pending late": in(push.Pending, func(d *push.Delivery) { d.DueAt = t0.Add(time.Second) }),
		"pending old":  in(push.Pending, func(d *push.Delivery) { d.ExpiresAt = t0 }),
		"retry":        in(push.Retry),
		"leased":       in(push.Leased),
		"leased lapsed": in(push.Leased, func(d *push.Delivery) {
			d.LeaseUntil = t0
		}),
		"leased other": in(push.Leased, func(d *push.Delivery) { d.Lease = "theirs" }),
	}
	finals := []push.State{push.Accepted, push.Rejected, push.Doubted, push.DeadAddress, push.Expired, push.Superseded, push.Suppressed}
	for _, s := range finals {
		rows[string(s)] = in(s)
	}
	commands := map[string]outbox.Command{
		"claim":     outbox.Claim{Lease: "new", Until: t0.Add(time.Minute)},
		"ok":        settle(push.Verdict{Class: push.OK}),
		"backoff":   settle(push.Verdict{Class: push.Backoff, Reason: "Busy"}),
		"ambiguous": settle(push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}),
		"cred":      settle(push.Verdict{Class: push.Cred, Reason: "Forbidden"}),
		"bug":       settle(push.Verdict{Class: push.Bug, Reason: "BadTopic"}),
		"dead":      settle(push.Verdict{Class: push.Dead, Reason: "Unregistered", DeadAt: t0}),
		"suspect":   settle(push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}),
		"slow":      settle(push.Verdict{Class: push.SlowAll, Reason: "TooMany"}),
		"slowdev":   settle(push.Verdict{Class: push.SlowDevice, Reason: "TooMany"}),
		"skip":      outbox.Skip{Lease: "mine", Why: outbox.Freshness{State: push.Superseded, Reason: "handled"}},
		"release":   outbox.Release{Lease: "mine", Reason: "stopping", At: t0},
		"reap":      outbox.Reap{},
		"orphan":    outbox.Reap{Orphaned: true},
		"supersede": outbox.Supersede{Reason: "handled"},
		"expire":    outbox.Expire{},
		"suppress":  outbox.Suppress{Reason: "seen"},
		"drop":      outbox.Drop{Reason: "revoked"},
		"shown":     outbox.Acknowledge{},
	}
	held := map[string]string{
		"ok": "accepted", "backoff": "retry", "ambiguous": "retry", "cred": "pending", "bug": "rejected",
		"dead": "dead_address", "suspect": "retry", "slow": "retry", "slowdev": "retry",
		"skip": "superseded", "release": "pending",
	}
	want := func(row, cmd string) string {
		d := rows[row]
		if _, settles := held[cmd]; settles {
			if d.Lease == "mine" {
				return held[cmd]
			}
			return outbox.ErrLeaseLost.Error()
		}
		switch {
		case cmd == "claim" && d.State.Final():
			return outbox.ErrFinal.Error()
		case cmd == "claim":
			return map[string]string{
				"pending": "leased", "retry": "leased", "leased lapsed": "leased", "pending old": "expired",
				"pending late": outbox.ErrNotDue.Error(),
				"leased":       outbox.ErrLeased.Error(), "leased other": outbox.ErrLeased.Error(),
			}[row]
		case cmd == "reap" && row == "leased lapsed", cmd == "orphan" && d.State == push.Leased:
			return "pending"
		case d.State == push.Pending || d.State == push.Retry:
			switch cmd {
			case "supersede":
				return "superseded"
			case "expire":
				return "expired"
			case "suppress":
				return "suppressed"
			case "drop":
				return "dead_address"
			}
		}
		return string(d.State)
	}
	for row, d := range rows {
		for cmd, c := range commands {
			got, events, err := outbox.Step(d, c, t0)
			result := string(got.State)
			if err != nil {
				result = err.Error()
				if len(events) > 0 || cmp.Diff(d, got) != "" {
					t.Errorf("%s × %s: an error changed the row", row, cmd)
				}
			}
			if w := want(row, cmd); result != w {
				t.Errorf("%s × %s: %s, want %s", row, cmd, result, w)
			}
			if got.State != push.Leased && (got.Lease != "" || !got.LeaseUntil.IsZero()) {
				if d.State.Final() {
					continue
				}
				t.Errorf("%s × %s: a lease outlived the state", row, cmd)
			}
			if got.CollapseID != d.CollapseID || got.ProviderID != d.ProviderID {
				t.Errorf("%s × %s: an identity changed", row, cmd)
			}
		}
	}
}

func TestSettle_CountsOnlySendsTheVendorCouldJudge(t *testing.T) {
	t.Parallel()
	for class, want := range map[push.Class]int{
		push.OK: 1, push.Backoff: 1, push.Ambiguous: 1, push.SlowAll: 1, push.SlowDevice: 1,
		push.Bug: 1, push.Dead: 1, push.Suspect: 1, push.Cred: 0, "something new": 1,
	} {
		got, _, err := outbox.Step(in(push.Leased), settle(push.Verdict{Class: class, DeadAt: t0}), t0)
		if err != nil || got.Attempt != want {
			t.Errorf("%s: %d attempts (%v), want %d", class, got.Attempt, err, want)
		}
	}
	for name, c := range map[string]outbox.Command{
		"release": outbox.Release{Lease: "mine", At: t0}, "orphaned": outbox.Reap{Orphaned: true},
	} {
		if got, _, _ := outbox.Step(in(push.Leased), c, t0); got.Attempt != 0 {
			t.Errorf("%s cost an attempt", name)
		}
	}
}

func TestSettle_RetryAfterIsAMinimum(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0, 0.5, 0.999} {
		s := settle(push.Verdict{Class: push.Backoff, RetryAfter: 90 * time.Second})
		s.Jitter = jitter
		got, _, err := outbox.Step(in(push.Leased), s, t0)
		if err != nil || got.DueAt.Before(t0.Add(90*time.Second)) {
			t.Errorf("jitter %v: due at %v (%v)", jitter, got.DueAt, err)
		}
	}
	got, _, _ := outbox.Step(in(push.Leased), settle(push.Verdict{Class: push.Cred, RetryAfter: time.Hour}), t0)
	if !got.DueAt.Equal(t0.Add(time.Hour)) {
		t.Errorf("cred due at %v", got.DueAt)
	}
}

func TestSettle_RetryPastTheDeadlineExpiresAndKeepsDoubt(t *testing.T) {
	t.Parallel()
	d := in(push.Leased, func(d *push.Delivery) { d.ExpiresAt = t0.Add(10 * time.Second) })
	got, _, err := outbox.Step(d, settle(push.Verdict{Class: push.Ambiguous, Reason: "no_answer", RetryAfter: time.Minute}), t0)
	if err != nil || got.State != push.Expired || got.Reason != "no_answer" || !got.MaybeSent {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSettle_AmbiguousIsRememberedAcrossLaterAttempts(t *testing.T) {
	t.Parallel()
	d, _, _ := outbox.Step(in(push.Leased), settle(push.Verdict{Class: push.Ambiguous}), t0)
	d, _, _ = outbox.Step(d, outbox.Claim{Lease: "mine", Until: d.DueAt.Add(time.Minute)}, d.DueAt)
	d, _, _ = outbox.Step(d, settle(push.Verdict{Class: push.Backoff}), d.LeaseUntil)
	if !d.MaybeSent || d.Attempt != 2 || d.State != push.Retry {
		t.Errorf("%+v", d)
	}
}

// What may be on a screen although nobody said so has to be known, so that it can
// be taken back: vendors have delivered what they answered with 503 (B9), and a
// worker may die between its send and its word.
func TestDoubt_B9_IsEveryEndThatMayHaveDelivered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cmd  outbox.Command
		want bool
	}{
		"no answer":           {settle(push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}), true},
		"unavailable":         {settle(push.Verdict{Class: push.Backoff, Reason: "UNAVAILABLE"}), true},
		"out of reach":        {settle(push.Verdict{Class: push.Backoff, Reason: "not_sent", Unsent: true}), false},
		"too many":            {settle(push.Verdict{Class: push.SlowDevice}), false},
		"credentials refused": {settle(push.Verdict{Class: push.Cred}), false},
		"given back unsent":   {outbox.Release{Lease: "mine", At: t0}, false},
		"its worker died":     {outbox.Reap{Orphaned: true}, true},
	} {
		d, _, err := outbox.Step(in(push.Leased), c.cmd, t0)
		if err != nil || d.MaybeSent != c.want {
			t.Errorf("%s: in doubt %v (%v), want %v", name, d.MaybeSent, err, c.want)
		}
	}
}

func TestDead_BelievesTheVendorOnlyAboutThisRegistration(t *testing.T) {
	t.Parallel()
	registered := address().RegisteredAt
	tests := []struct {
		name   string
		deadAt time.Time
		change func(*outbox.AddressNow)
		want   push.State
		reason string
		judged bool
	}{
		{name: "newer than the registration", deadAt: registered.Add(time.Millisecond), want: push.DeadAddress, reason: "Unregistered", judged: true},
		{name: "older than the registration", deadAt: registered.Add(-time.Millisecond), want: push.Retry, reason: "Unregistered"},
		{name: "the same moment", deadAt: registered, want: push.Retry, reason: "Unregistered"},
		{name: "no time given", want: push.DeadAddress, reason: "Unregistered", judged: true},
		{name: "no time given, registered during the send", change: func(a *outbox.AddressNow) { a.Address.RegisteredAt = t0.Add(time.Second) }, want: push.Retry, reason: "Unregistered"},
		{name: "token replaced meanwhile", deadAt: t0, change: func(a *outbox.AddressNow) { a.Address.Token = "bb" }, want: push.Retry, reason: outbox.ReasonRenewed},
		{name: "generation moved on", deadAt: t0, change: func(a *outbox.AddressNow) { a.Address.Generation++ }, want: push.Retry, reason: outbox.ReasonRenewed},
		{name: "another owner now", deadAt: t0, change: func(a *outbox.AddressNow) { a.Owned = false }, want: push.DeadAddress, reason: outbox.ReasonMoved},
		{name: "address gone", deadAt: t0, change: func(a *outbox.AddressNow) { a.Found = false }, want: push.DeadAddress, reason: outbox.ReasonMoved},
	}
	for _, tt := range tests {
		s := settle(push.Verdict{Class: push.Dead, Reason: "Unregistered", DeadAt: tt.deadAt})
		if tt.change != nil {
			tt.change(&s.Current)
		}
		got, events, err := outbox.Step(in(push.Leased), s, t0)
		judged := false
		for _, e := range events {
			if _, ok := e.(outbox.AddressJudged); ok {
				judged = true
			}
		}
		if err != nil || got.State != tt.want || got.Reason != tt.reason || judged != tt.judged {
			t.Errorf("%s: %s %q judged=%v (%v)", tt.name, got.State, got.Reason, judged, err)
		}
	}
}

func TestSuspect_TriesTheOtherEnvironmentOnceAndStoresTheAnswer(t *testing.T) {
	t.Parallel()
	refused := push.Verdict{Class: push.Suspect, Reason: "BadDeviceToken"}
	d, events, err := outbox.Step(in(push.Leased), settle(refused), t0)
	if err != nil || d.Env != push.EnvSandbox || !d.DueAt.Equal(t0) || len(events) != 1 {
		t.Fatalf("first refusal: %+v %v %v", d, events, err)
	}
	d, _, err = outbox.Step(d, outbox.Claim{Lease: "mine", Until: t0.Add(time.Minute)}, t0)
	if err != nil {
		t.Fatal(err)
	}
	fresh, to := outbox.Fresh(d, outbox.SubjectNow{Open: true, Version: 1}, settle(refused).Current, t0)
	if !fresh.Send() || to.Env != push.EnvSandbox {
		t.Fatalf("the second try goes to %q (%v)", to.Env, fresh)
	}

	good := settle(push.Verdict{Class: push.OK})
	good.Sent = to
	_, events, _ = outbox.Step(d, good, t0)
	learned := outbox.EnvLearned{Address: "adr_1", Generation: 4, Env: push.EnvSandbox}
	if diff := cmp.Diff([]outbox.Event{outbox.VendorAccepted{At: t0}, learned}, events); diff != "" {
		t.Errorf("accepted elsewhere (-want +got):\n%s", diff)
	}
	if a, changed := outbox.Mark(address(), learned); !changed || a.Env != push.EnvSandbox {
		t.Errorf("not stored: %+v", a)
	}

	bad := settle(refused)
	bad.Sent = to
	got, events, _ := outbox.Step(d, bad, t0)
	if got.State != push.Doubted || got.Attempt != 2 {
		t.Errorf("refused in both: %+v", got)
	}
	a, changed := outbox.Mark(address(), events[len(events)-1])
	if !changed || a.State != push.AddressSuspect {
		t.Errorf("the address is kept and marked: %+v", a)
	}
}

// A row that waits to try the other environment meets an address registered
// anew: it starts over.
func TestSuspect_ARenewedAddressStartsOver(t *testing.T) {
	t.Parallel()
	d := in(push.Leased, func(d *push.Delivery) { d.Env, d.Generation = push.EnvSandbox, 3 })
	got, _, _ := outbox.Step(d, settle(push.Verdict{Class: push.Backoff, Reason: "Busy"}), t0)
	if got.Env != "" || got.Generation != 4 {
		t.Errorf("busy: %q of generation %d is tried next", got.Env, got.Generation)
	}
	got, _, _ = outbox.Step(d, settle(push.Verdict{Class: push.Suspect}), t0)
	if got.State != push.Retry || got.Env != push.EnvSandbox {
		t.Errorf("refused: %s, %q is tried next", got.State, got.Env)
	}
}

func TestSuspect_WithoutEnvironmentsEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := settle(push.Verdict{Class: push.Suspect, Reason: "x"})
	s.Sent.Env = ""
	if got, _, _ := outbox.Step(in(push.Leased), s, t0); got.State != push.Doubted {
		t.Errorf("%+v", got)
	}
}

func TestMark_LeavesARenewedAddressAlone(t *testing.T) {
	t.Parallel()
	judged := outbox.AddressJudged{Address: "adr_1", Generation: 4, State: push.AddressDead, DeadAt: t0}
	tests := []struct {
		name   string
		change func(*push.Address)
		want   bool
	}{
		{name: "as sent", want: true},
		{name: "generation moved on", change: func(a *push.Address) { a.Generation = 5 }},
		{name: "registered again", change: func(a *push.Address) { a.RegisteredAt = t0 }},
		{name: "another address", change: func(a *push.Address) { a.ID = "adr_2" }},
		{name: "already dead", change: func(a *push.Address) { a.State = push.AddressDead }},
	}
	for _, tt := range tests {
		a := address()
		if tt.change != nil {
			tt.change(&a)
		}
		if _, changed := outbox.Mark(a, judged); changed != tt.want {
			t.Errorf("%s: changed=%v", tt.name, changed)
		}
	}
	for state, want := range map[push.AddressState]push.AddressState{
		push.AddressSuspect: push.AddressOK, push.AddressDead: push.AddressDead, push.AddressDenied: push.AddressDenied,
	} {
		a := address()
		a.State = state
		if a, _ = outbox.Mark(a, outbox.AddressJudged{Address: "adr_1", Generation: 4, State: push.AddressOK}); a.State != want {
			t.Errorf("%s that was taken is %s", state, a.State)
		}
	}
	if a, changed := outbox.Mark(address(), outbox.LeaseLost{}); changed || a.State != push.AddressOK {
		t.Error("an event of the row changed the address")
	}
}

func TestFresh_ReadsAgainRightBeforeTheSend(t *testing.T) {
	t.Parallel()
	open := outbox.SubjectNow{Open: true, Version: 1}
	now := outbox.AddressNow{Found: true, Owned: true, Address: address()}
	with := func(change func(*push.Address)) outbox.AddressNow {
		a := now
		change(&a.Address)
		return a
	}
	tests := []struct {
		name    string
		subject outbox.SubjectNow
		address outbox.AddressNow
		row     push.Delivery
		want    outbox.Freshness
	}{
		{"as planned", open, now, base(), outbox.Freshness{}},
		{"token rotated: the new one is used", open, with(func(a *push.Address) { a.Generation, a.Token = 9, "bb" }), base(), outbox.Freshness{}},
		{"decided", outbox.SubjectNow{Version: 1}, now, base(), outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonHandled}},
		{"newer version", outbox.SubjectNow{Open: true, Version: 2}, now, base(), outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonNewerVersion}},
		{"deadline moved up", outbox.SubjectNow{Open: true, Version: 1, Deadline: t0}, now, base(), outbox.Freshness{State: push.Expired, Reason: outbox.ReasonDeadline}},
		{"row too old", open, now, in(push.Leased, func(d *push.Delivery) { d.ExpiresAt = t0 }), outbox.Freshness{State: push.Expired, Reason: outbox.ReasonDeadline}},
		{"moved to another account, even when decided", outbox.SubjectNow{}, outbox.AddressNow{Found: true, Address: address()}, base(), outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonMoved}},
		{"gone", open, outbox.AddressNow{}, base(), outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonAddressGone}},
		{"died meanwhile", open, with(func(a *push.Address) { a.State = push.AddressDead }), base(), outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonAddressDead}},
		{"switched off", open, with(func(a *push.Address) { a.State = push.AddressDenied }), base(), outbox.Freshness{State: push.Suppressed, Reason: outbox.ReasonDenied}},
	}
	for _, tt := range tests {
		got, to := outbox.Fresh(tt.row, tt.subject, tt.address, t0)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if got.Send() != (to.Token != "") || got.Send() && to.Token != tt.address.Address.Token {
			t.Errorf("%s: sent to %q", tt.name, to.Token)
		}
	}
}

func TestFresh_AnotherEnvironmentIsTriedOnlyForTheSameRegistration(t *testing.T) {
	t.Parallel()
	d := in(push.Leased, func(d *push.Delivery) { d.Env = push.EnvSandbox })
	a := outbox.AddressNow{Found: true, Owned: true, Address: address()}
	a.Address.Generation++
	if _, to := outbox.Fresh(d, outbox.SubjectNow{Open: true, Version: 1}, a, t0); to.Env != push.EnvProduction {
		t.Errorf("a renewed address was sent to %q", to.Env)
	}
}

func TestSuppress_NeverADecision(t *testing.T) {
	t.Parallel()
	d := in(push.Pending, func(d *push.Delivery) { d.Kind = push.DecisionRequired })
	if _, err := outbox.Decide(d, outbox.Suppress{}, t0); !errors.Is(err, outbox.ErrNotSuppressible) {
		t.Errorf("%v", err)
	}
}

func TestBackoff_GrowsIsBoundedAndJitters(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		low, high := outbox.Backoff(n, 0, 0), outbox.Backoff(n, 0, 0.999)
		if low <= 0 || high < low || high > outbox.MaxDelay {
			t.Errorf("attempt %d: %v to %v", n, low, high)
		}
		if n > 0 && low < outbox.Backoff(n-1, 0, 0) {
			t.Errorf("attempt %d waits less than the one before", n)
		}
		if got := outbox.Backoff(n, time.Hour, 0.5); got < time.Hour {
			t.Errorf("attempt %d ignores the vendor's minimum: %v", n, got)
		}
	}
}

func TestCircuit(t *testing.T) {
	t.Parallel()
	cred := push.Verdict{Class: push.Cred, Reason: "Forbidden"}
	ok := push.Verdict{Class: push.OK}
	var c outbox.Circuit
	if c.Allowance(t0, 50, 7) != 50 {
		t.Error("closed must not limit")
	}
	c = c.Observe(push.Verdict{Class: push.Backoff}, t0).Observe(push.Verdict{Class: push.Dead}, t0)
	if !c.Closed() {
		t.Error("only refusals of us open it")
	}

	c = c.Observe(cred, t0)
	if c.Closed() || c.Reason != "Forbidden" || c.Allowance(t0, 50, 0) != 0 {
		t.Fatalf("not open: %+v", c)
	}
	if again := c.Observe(cred, t0.Add(time.Second)); cmp.Diff(c, again) != "" {
		t.Error("sends from before the opening must not lengthen it")
	}
	if c.Observe(ok, t0.Add(time.Second)).Closed() {
		t.Error("a late success closed it")
	}

	probe := c.OpenUntil
	if c.Allowance(probe, 50, 0) != 1 || c.Allowance(probe, 50, 1) != 0 {
		t.Error("one probe at a time")
	}
	longer := c.Observe(cred, probe)
	if longer.OpenUntil.Sub(probe) <= probe.Sub(t0) {
		t.Errorf("a failed probe must wait longer: %v", longer.OpenUntil.Sub(probe))
	}
	for range 50 {
		longer = longer.Observe(cred, longer.OpenUntil)
	}
	if d := longer.Observe(cred, longer.OpenUntil).OpenUntil.Sub(longer.OpenUntil); d != outbox.MaxCircuitPause {
		t.Errorf("pause grew to %v", d)
	}
	if unsure := c.Observe(push.Verdict{Class: push.Ambiguous}, probe); unsure.Closed() {
		t.Error("no answer proves nothing")
	}
	if !c.Observe(push.Verdict{Class: push.Bug}, probe).Closed() || !c.Observe(ok, probe).Closed() {
		t.Error("a judged message proves our credentials")
	}

	slow := outbox.Circuit{}.Observe(push.Verdict{Class: push.SlowAll, RetryAfter: 10 * time.Minute}, t0)
	if !slow.OpenUntil.Equal(t0.Add(10 * time.Minute)) {
		t.Errorf("slow until %v", slow.OpenUntil)
	}
	if huge := (outbox.Circuit{}).Observe(push.Verdict{Class: push.SlowAll, RetryAfter: 1 << 60}, t0); huge.OpenUntil.Sub(t0) > time.Hour {
		t.Errorf("a vendor stopped the lane for %v", huge.OpenUntil.Sub(t0))
	}
}

func TestCommand_UnknownIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := outbox.Decide(base(), nil, t0); err == nil {
		t.Error("nil command accepted")
	}
}
