package outbox_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// sweep is a sweep in some state.
func sweep(s push.State, change ...func(*push.Delivery)) push.Delivery {
	return in(s, append([]func(*push.Delivery){func(d *push.Delivery) {
		d.Kind, d.Subject, d.CollapseID = push.Sweep, push.Subject{}, ""
	}}, change...)...)
}

func acceptedAt(at time.Time) func(*push.Delivery) {
	return func(d *push.Delivery) { d.AcceptedAt = at }
}

// B4, B5: at most two sweeps of an address in any hour, counted from what may
// have been sent, whatever was planned.
func TestSweepAt(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) push.Delivery { return sweep(push.Accepted, acceptedAt(t0.Add(-d))) }
	lost := sweep(push.Expired, func(d *push.Delivery) { d.MaybeSent, d.EndedAt = true, t0.Add(-time.Minute) })
	for name, c := range map[string]struct {
		earlier []push.Delivery
		after   time.Duration
	}{
		"none":                    {nil, 0},
		"one":                     {[]push.Delivery{ago(time.Minute)}, 0},
		"two":                     {[]push.Delivery{ago(50 * time.Minute), ago(time.Minute)}, 10 * time.Minute},
		"two, the first long ago": {[]push.Delivery{ago(time.Hour), ago(time.Minute)}, 0},
		"three":                   {[]push.Delivery{ago(59 * time.Minute), ago(20 * time.Minute), ago(time.Minute)}, 40 * time.Minute},
		"one perhaps":             {[]push.Delivery{ago(30 * time.Minute), lost}, 30 * time.Minute},
		"one with a worker":       {[]push.Delivery{ago(30 * time.Minute), sweep(push.Leased)}, 30 * time.Minute},
		"never sent":              {[]push.Delivery{ago(time.Minute), sweep(push.Superseded), sweep(push.Pending), {}}, 0},
	} {
		if got := outbox.SweepAt(c.earlier, t0).Sub(t0); got != c.after {
			t.Errorf("%s: after %v, want %v", name, got, c.after)
		}
	}
}

// Whatever happens to sweeps, planned at random and judged again before each
// send, with workers that die, no hour holds more than two; and what no longer
// counts may be forgotten without changing that.
func TestSweepAt_NeverMoreThanTwoAnHour(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		var rows []push.Delivery
		var sent []time.Time
		now := t0
		for range 200 {
			now = now.Add(time.Duration(r.IntN(1500)) * time.Second)
			rows = slices.DeleteFunc(rows, func(d push.Delivery) bool { return !outbox.Counts(d, now) })
			if len(rows) == 0 || !outbox.Waiting(rows[len(rows)-1]) {
				rows = append(rows, sweep(push.Pending, func(d *push.Delivery) {
					d.DueAt, d.ExpiresAt = outbox.SweepAt(rows, now), now.Add(24*time.Hour)
				}))
			}
			last := len(rows) - 1
			d, _, err := outbox.Step(rows[last], outbox.Claim{Lease: "mine", Until: now.Add(time.Minute)}, now)
			if err != nil {
				continue
			}
			f, _ := outbox.FreshSweep(d, rows[:last], nil, true, outbox.AddressNow{Found: true, Owned: true, Address: address()}, now)
			var cmd outbox.Command = outbox.Release{Lease: "mine", Reason: f.Reason, At: f.Again}
			if f.Send() {
				sent = append(sent, now)
				now = now.Add(time.Duration(r.IntN(20)) * time.Second)
				cmd = []outbox.Command{
					settle(push.Verdict{Class: push.OK}), settle(push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}),
					outbox.Reap{Orphaned: true},
				}[r.IntN(3)]
			}
			if rows[last], _, err = outbox.Step(d, cmd, now); err != nil {
				t.Fatal(err)
			}
		}
		for i := 2; i < len(sent); i++ {
			if sent[i].Sub(sent[i-2]) < time.Hour {
				t.Fatalf("seed %d: three within %v", seed, sent[i].Sub(sent[i-2]))
			}
		}
		if len(sent) < 50 {
			t.Fatalf("seed %d: only %d were sent", seed, len(sent))
		}
	}
}

// The second step comes after the first one, and only where that was taken.
func TestFreshSweep(t *testing.T) {
	t.Parallel()
	back := func(states ...push.State) (all []push.Delivery) {
		for _, s := range states {
			all = append(all, in(s, func(d *push.Delivery) { d.Kind = push.Withdraw }))
		}
		return all
	}
	never := outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonNotShown}
	two := []push.Delivery{sweep(push.Accepted, acceptedAt(t0.Add(-50*time.Minute))), sweep(push.Accepted, acceptedAt(t0.Add(-time.Minute)))}
	for name, c := range map[string]struct {
		earlier, steps []push.Delivery
		zero           bool
		change         func(*outbox.AddressNow)
		want           outbox.Freshness
	}{
		"taken back":             {steps: back(push.Superseded, push.Accepted)},
		"one of them so far":     {steps: back(push.Accepted, push.Retry)},
		"not taken back":         {steps: back(push.Superseded, push.Rejected, push.Expired), want: never},
		"nothing to do":          {want: never},
		"nothing to count":       {zero: true},
		"the first step waits":   {steps: back(push.Rejected, push.Retry), want: outbox.Freshness{Reason: outbox.ReasonAlertOpen, Again: t0.Add(time.Minute)}},
		"often enough":           {earlier: two, steps: back(push.Accepted), want: outbox.Freshness{Reason: outbox.ReasonRate, Again: t0.Add(10 * time.Minute)}},
		"moved":                  {steps: back(push.Accepted), change: func(a *outbox.AddressNow) { a.Owned = false }, want: outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonMoved}},
		"switched off":           {steps: back(push.Accepted), change: func(a *outbox.AddressNow) { a.Address.State = push.AddressDenied }, want: outbox.Freshness{State: push.Suppressed, Reason: outbox.ReasonDenied}},
		"gone before the moment": {earlier: two, change: func(a *outbox.AddressNow) { a.Found = false }, want: outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonAddressGone}},
	} {
		a := outbox.AddressNow{Found: true, Owned: true, Address: address()}
		if c.change != nil {
			c.change(&a)
		}
		got, to := outbox.FreshSweep(sweep(push.Leased), c.earlier, c.steps, c.zero, a, t0)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if got.Send() != (to.ID != "") {
			t.Errorf("%s: sent to %q", name, to.ID)
		}
	}
}

// A sweep that may have been sent is not sent again; one that was refused is.
func TestSweep_IsSentAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  push.Delivery
		cmd  outbox.Command
		want push.State
	}{
		"no answer":       {sweep(push.Leased), settle(push.Verdict{Class: push.Ambiguous, Reason: "no_answer"}), push.Expired},
		"its holder died": {sweep(push.Leased), outbox.Reap{Orphaned: true}, push.Expired},
		"taken over":      {sweep(push.Leased, func(d *push.Delivery) { d.LeaseUntil = t0 }), outbox.Claim{Lease: "new", Until: t0.Add(time.Minute)}, push.Expired},
		"given back":      {sweep(push.Leased), outbox.Release{Lease: "mine", Reason: "stopping", At: t0}, push.Pending},
		"busy":            {sweep(push.Leased), settle(push.Verdict{Class: push.Backoff, Reason: "ServiceUnavailable", Unsent: true}), push.Retry},
	} {
		got, _, err := outbox.Step(c.row, c.cmd, t0)
		if err != nil || got.State != c.want || got.MaybeSent != (c.want == push.Expired) {
			t.Errorf("%s: %v %+v", name, err, got)
		}
	}
}

// B6: an iPhone is never sent a 0.
func TestFreshBadge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lane  string
		count uint32
		send  bool
	}{{push.LaneAPNs, 0, false}, {push.LaneAPNs, 1, true}, {push.LaneFCM, 0, true}, {push.LaneFCM, 1, true}} {
		row := in(push.Leased, func(d *push.Delivery) { d.Kind, d.Lane = push.BadgeOnly, c.lane })
		got, _ := outbox.FreshBadge(row, c.count, outbox.AddressNow{Found: true, Owned: true, Address: address()}, t0)
		if got.Send() != c.send || !c.send && got.Reason != outbox.ReasonAppCounts {
			t.Errorf("%s, %d: %+v", c.lane, c.count, got)
		}
	}
	if at := outbox.BadgeAt(push.Delivery{State: push.Accepted, AcceptedAt: t0.Add(-time.Minute)}, t0); !at.Equal(t0.Add(4 * time.Minute)) {
		t.Errorf("the next badge after %v", at.Sub(t0))
	}
	if at := outbox.BadgeAt(push.Delivery{}, t0); !at.Equal(t0) {
		t.Errorf("the first badge after %v", at.Sub(t0))
	}
}
