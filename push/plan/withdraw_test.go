package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
)

// R22: what is, or may be about to be, on a screen is taken back there, once,
// and only there.
func TestWithdrawals(t *testing.T) {
	t.Parallel()
	dec := push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 1}
	task := push.Subject{Thread: "thr_1", Task: "tsk_1", Version: 1}
	addresses := []push.Address{
		{ID: "adr_1", Installation: "ins_1", State: push.AddressOK},
		{ID: "adr_2", Installation: "ins_2", State: push.AddressSuspect},
		{ID: "adr_3", Installation: "ins_3", State: push.AddressDenied},
		{ID: "adr_4", Installation: "ins_4", State: push.AddressDead},
	}
	shown := func(kind push.Kind, at ...string) (rows []push.Delivery) {
		for _, a := range at {
			rows = append(rows, push.Delivery{Kind: kind, Address: a, State: push.Accepted})
		}
		return rows
	}
	in := func(s push.State) []push.Delivery {
		return []push.Delivery{{Kind: push.DecisionRequired, Address: "adr_1", State: s}}
	}
	doubt := []push.Delivery{{Kind: push.DecisionRequired, Address: "adr_1", State: push.Retry, MaybeSent: true}}
	tests := map[string]struct {
		change plan.Change
		rows   []push.Delivery
		want   []string
	}{
		"answered on the first":      {plan.DecisionClosed{Subject: dec, By: "ins_1"}, shown(push.DecisionRequired, "adr_1", "adr_2"), []string{"adr_2"}},
		"expired":                    {plan.DecisionClosed{Subject: dec}, shown(push.DecisionRequired, "adr_1", "adr_2"), []string{"adr_1", "adr_2"}},
		"read on the second":         {plan.ResultRead{Subject: task, By: "ins_2"}, shown(push.ResultReady, "adr_1", "adr_2"), []string{"adr_1"}},
		"two versions on one screen": {plan.DecisionClosed{Subject: dec}, shown(push.DecisionRequired, "adr_1", "adr_1"), []string{"adr_1"}},
		"not on a dead address":      {plan.DecisionClosed{Subject: dec}, shown(push.DecisionRequired, "adr_4", "adr_gone"), nil},
		"denied says so":             {plan.DecisionClosed{Subject: dec}, shown(push.DecisionRequired, "adr_3"), []string{"adr_3 suppressed"}},
		"in a worker's hands":        {plan.DecisionClosed{Subject: dec}, in(push.Leased), []string{"adr_1"}},
		"still waiting":              {plan.DecisionClosed{Subject: dec}, in(push.Pending), nil},
		"tried and not sent":         {plan.DecisionClosed{Subject: dec}, in(push.Retry), nil},
		"B9: perhaps sent":           {plan.DecisionClosed{Subject: dec}, doubt, []string{"adr_1"}},
		"refused":                    {plan.DecisionClosed{Subject: dec}, in(push.Rejected), nil},
		"a withdrawal is no alert":   {plan.DecisionClosed{Subject: dec}, shown(push.Withdraw, "adr_1"), nil},
		"a new revision replaces":    {plan.DecisionOpened{Subject: dec}, shown(push.DecisionRequired, "adr_1"), nil},
	}
	for name, tt := range tests {
		var got []string
		for _, d := range plan.Withdrawals(account, tt.change, tt.rows, addresses, t0) {
			word := d.Address
			if d.State != push.Pending {
				word += " " + string(d.State)
			}
			got = append(got, word)
			if d.Kind != push.Withdraw || d.CollapseID != push.CollapseID(d.Key()) || !d.ExpiresAt.Equal(t0.Add(plan.WithdrawTTL)) {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
	}
}

// The replacement says how it ended and nothing of what it was about.
func TestCompose_Withdrawal(t *testing.T) {
	t.Parallel()
	for closing, want := range map[plan.Closing]string{
		plan.Handled: "Handled on another device", plan.TimedOut: "Expired: nothing was run", plan.Gone: "No longer needed",
	} {
		m := plan.Compose(plan.Input{
			Row:     push.Delivery{Kind: push.Withdraw, Subject: push.Subject{Decision: "dec_1"}, CollapseID: "c"},
			Address: push.Address{Level: push.LevelFull}, Closing: closing, Badge: push.Badge{Count: 2},
			Tap: func(push.Verb) string { return "token" },
		})
		if diff := cmp.Diff(push.Text{Title: want}, m.Text); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", closing, diff)
		}
		if len(m.Payload.Actions) > 0 || m.CollapseID != "c" || m.Payload.Decision != "dec_1" || m.Payload.Badge.Count != 2 {
			t.Errorf("%s: %+v", closing, m)
		}
	}
}
