package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
)

// What comes while a sweep waits is said by it; another is planned only when
// there is none.
func TestSweeping(t *testing.T) {
	t.Parallel()
	a := push.Address{ID: "adr_1", Kind: push.KindAPNs, Generation: 3}
	due := t0.Add(time.Minute)
	add := func(ids ...string) push.SweepBatch { return push.SweepBatch{Withdrawals: ids} }
	q, first := plan.Sweeping(account, push.Quiet{Badge: "dlv_b"}, add("dlv_1"), false, a, due, t0)
	if first == nil || first.Kind != push.Sweep || !first.DueAt.Equal(due) || first.Key() != "" || first.CollapseID != "" ||
		first.Address != "adr_1" || first.Generation != 3 || first.Lane != push.LaneAPNs || first.State != push.Pending {
		t.Fatalf("planned %+v", first)
	}
	q, none := plan.Sweeping(account, q, push.SweepBatch{Withdrawals: []string{"dlv_2"}, Zero: true}, true, a, due, t0)
	q, second := plan.Sweeping(account, q, add("dlv_3"), false, a, due, t0.Add(time.Second))
	if none != nil || second == nil || second.ID == first.ID {
		t.Fatalf("planned %v and %v", none, second)
	}
	want := push.Quiet{Badge: "dlv_b", Sweeps: []push.SweepBatch{
		{Row: first.ID, Withdrawals: []string{"dlv_1", "dlv_2"}, Zero: true}, {Row: second.ID, Withdrawals: []string{"dlv_3"}},
	}}
	if diff := cmp.Diff(want, q); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	for i := range 3 * push.MaxBatch {
		q, _ = plan.Sweeping(account, q, add(fmt.Sprint(i)), true, a, due, t0)
	}
	if last := q.Sweeps[1].Withdrawals; len(last) != push.MaxBatch || last[len(last)-1] != fmt.Sprint(3*push.MaxBatch-1) {
		t.Errorf("a batch of %d", len(last))
	}
}

// Who is told a number that fell: not the device that made it fall, none that
// hears of it anyway, and none that cannot show it.
func TestCounting(t *testing.T) {
	t.Parallel()
	addresses := []push.Address{
		{ID: "adr_1", Installation: "ins_1", State: push.AddressOK}, {ID: "adr_2", Installation: "ins_2", State: push.AddressSuspect},
		{ID: "adr_3", Installation: "ins_3", State: push.AddressOK}, {ID: "adr_4", Installation: "ins_4", State: push.AddressDead},
		{ID: "adr_5", Installation: "ins_5", State: push.AddressDenied},
	}
	for by, want := range map[string]string{"ins_1": "adr_2", "": "adr_1 adr_2", "ins_3": "adr_1 adr_2"} {
		var got []string
		for _, a := range plan.Counting(addresses, by, map[string]bool{"adr_3": true}) {
			got = append(got, a.ID)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %q: %v, want %s", by, got, want)
		}
	}
}

// A sweep names what it takes away in less than 3 kB, and on an iPhone neither it
// nor a badge takes the place of an alert that waits for a phone that is off.
func TestCompose_Quiet(t *testing.T) {
	t.Parallel()
	var tags []string
	for i := range 200 {
		tags = append(tags, push.CollapseID(fmt.Sprint(i)))
	}
	for _, c := range []struct {
		kind push.Kind
		lane string
		tags []string
		keep bool
	}{
		{push.Sweep, push.LaneAPNs, tags, false}, {push.Sweep, push.LaneAPNs, tags[:push.MaxBatch], false},
		{push.BadgeOnly, push.LaneAPNs, nil, false}, {push.BadgeOnly, push.LaneFCM, nil, true},
	} {
		m := plan.Compose(plan.Input{
			Row:     push.Delivery{Kind: c.kind, Lane: c.lane, ExpiresAt: t0.Add(time.Hour)},
			Address: push.Address{AccountTag: strings.Repeat("t", 43), Level: push.LevelFull},
			AsOf:    strings.Repeat("s", 128), Tags: c.tags, Badge: push.Badge{Count: 2, Epoch: "e", Version: 7},
		})
		if m.Text != (push.Text{}) || m.Payload.Badge.Count != 2 || len(m.Payload.Actions) > 0 {
			t.Errorf("%s: %+v", c.kind, m)
		}
		if m.ExpiresAt.IsZero() == c.keep {
			t.Errorf("%s by %s is kept until %v", c.kind, c.lane, m.ExpiresAt)
		}
		if size := len(m.Payload.Encode()); size > 3000 {
			t.Errorf("%d bytes", size)
		}
		if n := len(m.Payload.Tags); len(c.tags) == push.MaxBatch && n != push.MaxBatch || len(c.tags) > n && m.Payload.Tags[n-1] != c.tags[len(c.tags)-1] {
			t.Errorf("%d tags of %d", n, len(c.tags))
		}
	}
}
