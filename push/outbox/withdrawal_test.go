package outbox_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// A withdrawal takes back what was accepted and nothing else.
func TestFreshWithdrawal(t *testing.T) {
	t.Parallel()
	alert := func(states ...push.State) (all []push.Delivery) {
		for _, s := range states {
			all = append(all, in(s))
		}
		return all
	}
	again := outbox.Freshness{Reason: outbox.ReasonAlertOpen, Again: t0.Add(time.Second)}
	never := outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonNotShown}
	tests := map[string]struct {
		open   bool
		alerts []push.Delivery
		change func(*outbox.AddressNow)
		want   outbox.Freshness
	}{
		"accepted":                   {alerts: alert(push.Accepted)},
		"an older version accepted":  {alerts: alert(push.Superseded, push.Accepted)},
		"accepted and another waits": {alerts: alert(push.Leased, push.Accepted)},
		"on its way":                 {alerts: alert(push.Leased), want: again},
		"given back":                 {alerts: alert(push.Retry), want: again},
		"waiting":                    {alerts: alert(push.Pending), want: again},
		"superseded":                 {alerts: alert(push.Superseded), want: never},
		"superseded in doubt":        {alerts: []push.Delivery{in(push.Superseded, func(d *push.Delivery) { d.MaybeSent = true })}},
		"still tried in doubt":       {alerts: []push.Delivery{in(push.Retry, func(d *push.Delivery) { d.MaybeSent = true })}, want: again},
		"rejected":                   {alerts: alert(push.Rejected), want: never},
		"no alert at all":            {want: never},
		"wanted again":               {open: true, alerts: alert(push.Accepted), want: outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonOpenAgain}},
		"moved": {
			alerts: alert(push.Accepted), change: func(a *outbox.AddressNow) { a.Owned = false },
			want: outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonMoved},
		},
	}
	for name, tt := range tests {
		a := outbox.AddressNow{Found: true, Owned: true, Address: address()}
		if tt.change != nil {
			tt.change(&a)
		}
		row := in(push.Leased, func(d *push.Delivery) { d.Kind = push.Withdraw })
		got, to := outbox.FreshWithdrawal(row, tt.open, tt.alerts, a, t0)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if got.Send() != (to.ID != "") {
			t.Errorf("%s: sent to %q", name, to.ID)
		}
	}
}
