package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var account = plan.Account{ID: "acc_1", Route: "r"}

func phones() []push.Address {
	return []push.Address{
		{ID: "adr_1", Kind: push.KindAPNs, Generation: 3, State: push.AddressOK},
		{ID: "adr_2", Kind: push.KindAPNs, Generation: 8, State: push.AddressSuspect},
		{ID: "adr_3", Kind: push.KindAPNs, State: push.AddressDead},
		{ID: "adr_4", Kind: push.KindAPNs, State: push.AddressDenied},
	}
}

func TestPlan_OnlyTheTwoCausesRing(t *testing.T) {
	t.Parallel()
	dec := push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 1}
	task := push.Subject{Thread: "thr_1", Task: "tsk_1", Version: 1}
	tests := []struct {
		name    string
		change  plan.Change
		want    push.Kind
		handled string
	}{
		{name: "decision opened", change: plan.DecisionOpened{Subject: dec}, want: push.DecisionRequired},
		{name: "settled by policy", change: plan.DecisionOpened{Subject: dec, ByPolicy: true}},
		{name: "already late", change: plan.DecisionOpened{Subject: dec, Deadline: t0}},
		{name: "decision closed", change: plan.DecisionClosed{Subject: dec}, handled: "dec_1"},
		{name: "completed with a result", change: plan.TaskEnded{Subject: task, Outcome: plan.Completed, HasResult: true, Answered: true}, want: push.ResultReady},
		{name: "completed without a result, nothing asked", change: plan.TaskEnded{Subject: task, Outcome: plan.Completed}, want: push.ResultReady},
		{name: "completed without a result after its answer", change: plan.TaskEnded{Subject: task, Outcome: plan.Completed, Answered: true}},
		{name: "failed", change: plan.TaskEnded{Subject: task, Outcome: plan.Failed, Answered: true}, want: push.ResultReady},
		{name: "could not resume", change: plan.TaskEnded{Subject: task, Outcome: plan.CouldNotResume, Answered: true}, want: push.ResultReady},
		{name: "not done in time", change: plan.TaskEnded{Subject: task, Outcome: plan.Expired, Answered: true}, want: push.ResultReady},
		{name: "stopped by a person", change: plan.TaskEnded{Subject: task, Outcome: plan.Stopped, HasResult: true}},
		{name: "no change", change: nil},
	}
	for _, tt := range tests {
		p := plan.Plan(account, tt.change, phones(), t0)
		var got push.Kind
		if p.Intent != nil {
			got = p.Intent.Kind
		}
		if got != tt.want || p.Handled != tt.handled || (p.Intent == nil && len(p.Deliveries) > 0) {
			t.Errorf("%s: kind %q handled %q, %d rows", tt.name, got, p.Handled, len(p.Deliveries))
		}
	}
}

func TestPlan_RowsPerAddress(t *testing.T) {
	t.Parallel()
	deadline := t0.Add(time.Hour)
	change := plan.DecisionOpened{
		Subject:  push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 2},
		Deadline: deadline,
	}
	p := plan.Plan(account, change, phones(), t0)
	if len(p.Deliveries) != 3 {
		t.Fatalf("%d rows, want one for each address that is not dead", len(p.Deliveries))
	}
	if p.Handled != "dec_1" {
		t.Errorf("a new revision supersedes the rows of older ones, got %q", p.Handled)
	}
	want := push.Delivery{
		ID: push.DeliveryID("r", p.Intent.ID, "adr_1"), Intent: p.Intent.ID, Kind: push.DecisionRequired,
		Subject: change.Subject, Account: "acc_1", Address: "adr_1", Generation: 3, Lane: "apns",
		State: push.Pending, DueAt: t0, CreatedAt: t0, ExpiresAt: deadline,
		CollapseID: push.CollapseID("dec_1"), ProviderID: push.ProviderID(push.DeliveryID("r", p.Intent.ID, "adr_1")),
	}
	if diff := cmp.Diff(want, p.Deliveries[0]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	if denied := p.Deliveries[2]; denied.State != push.Suppressed || denied.Reason != "notifications_denied" {
		t.Errorf("a switched-off device needs a row that says so: %+v", denied)
	}
	again := plan.Plan(account, change, phones(), t0.Add(time.Minute))
	if again.Intent.ID != p.Intent.ID || again.Deliveries[0].ID != p.Deliveries[0].ID {
		t.Error("a replayed command made new ids")
	}
}

func TestPlan_NoDeviceStillRecordsTheIntent(t *testing.T) {
	t.Parallel()
	p := plan.Plan(account, plan.DecisionOpened{Subject: push.Subject{Decision: "dec_1", Version: 1}}, nil, t0)
	if p.Intent == nil || len(p.Deliveries) != 0 {
		t.Errorf("%+v", p)
	}
	if got := p.Intent.ExpiresAt.Sub(t0); got != plan.DecisionTTL {
		t.Errorf("no deadline: worth saying for %v", got)
	}
}

func TestPlan_AResultCollapsesByTaskEvenWhenADecisionIsNamed(t *testing.T) {
	t.Parallel()
	p := plan.Plan(account, plan.TaskEnded{
		Subject: push.Subject{Task: "tsk_1", Decision: "dec_9", Version: 1}, Outcome: plan.Failed,
	}, phones(), t0)
	if p.Deliveries[0].CollapseID != push.CollapseID("tsk_1") {
		t.Error("a result must not replace a decision's alert")
	}
}
