package apns_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/plan"
)

// B23: a notification extension is killed at 24 MB or after 30 seconds, and then
// the system shows what the push itself says. The extension of this phone does
// nothing at all: at each level of content the person still reads whose question
// or result it is, as far as the level allows, and hears it.
func TestSend_B23_GoodTextWhenTheExtensionDoesNothing(t *testing.T) {
	t.Parallel()
	for level, want := range map[push.Level][2]push.Text{
		push.LevelIDs: {
			{Title: "A task needs your decision", Body: "2 to look at"}, {Title: "A result is ready", Body: "2 to look at"},
		},
		push.LevelTitle: {
			{Title: "mailer needs a decision", Body: "Trial-end campaign\n2 to look at"}, {Title: "Trial-end campaign is ready", Body: "2 to look at"},
		},
		push.LevelFull: {
			{Title: "mailer needs a decision", Body: "Send mail to 214 customers?\nTo: trial users\n2 to look at"}, {Title: "mailer finished", Body: "All 214 are sent.\n2 to look at"},
		},
	} {
		b := setup(t)
		to := alertFor("dec_1", 2).Address
		to.Level = level
		d := device.New(device.Config{Name: "phone"})
		t.Cleanup(d.Close)
		if err := d.Install(to.Topic, deaf{}); err != nil {
			t.Fatal(err)
		}
		if err := b.emulator.AddDevice(emulator.Registration{Token: to.Token, Topic: to.Topic, Env: emulator.Sandbox, Phone: d}); err != nil {
			t.Fatal(err)
		}
		wantOK(t, b.send(t, composed(push.DecisionRequired, to)))
		wantOK(t, b.send(t, composed(push.ResultReady, to)))
		var got [2]push.Text
		for i, s := range d.Shown(to.Topic) {
			got[i] = push.Text{Title: s.Title, Body: s.Body}
			if !s.Mutable || s.LocKey != "" || s.Sound == "" {
				t.Errorf("%s: an extension is to change what stands by itself and rings: %+v", level, s.Notification)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: on the screen (-want +got):\n%s", level, diff)
		}
		if n := d.Rings(to.Topic); n != 2 {
			t.Errorf("%s: rang %d times", level, n)
		}
	}
}

// composed is a push as it is written right before the send.
func composed(kind push.Kind, to push.Address) push.Message {
	return plan.Compose(plan.Input{
		Row: push.Delivery{
			ID: "dlv " + string(kind), Kind: kind, CollapseID: push.CollapseID(string(kind)), ProviderID: push.ProviderID(string(kind)),
			ExpiresAt: time.Now().Add(time.Hour), Subject: push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 1},
		},
		Address: to, AsOf: "c3RhbXA", Badge: push.Badge{Count: 2, Epoch: "ZQ", Version: 7}, Asked: "00ff",
		Card: &plan.Card{
			Agent: "mailer", Thread: "Trial-end campaign", Question: "Send mail to 214 customers?",
			Facts: []plan.Fact{{Label: "To", Value: "trial users"}}, Class: 3,
		},
		Result: &plan.Result{Agent: "mailer", Thread: "Trial-end campaign", Outcome: plan.Completed, Summary: "All 214 are sent."},
	})
}
