package fcm_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/emulator/device"
	emulator "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/plan"
)

// offline is an app that draws what a message says and reads nothing else.
type offline struct {
	d     *device.Device
	drawn chan push.Text
}

func (o *offline) Receive(_ context.Context, n device.Notification) {
	n.Tag, n.Title, n.Body, n.Wake = n.Data["tag"], n.Data["title"], n.Data["body"], false
	if n.Tag != "" && n.Title != "" && o.d.Notify(n) {
		o.drawn <- push.Text{Title: n.Title, Body: n.Body}
		return
	}
	o.drawn <- push.Text{}
}
func (*offline) Open(context.Context, device.Notification) error        { return nil }
func (*offline) Act(context.Context, device.Notification, string) error { return nil }

// B23: an app that was woken may be killed before it has read anything from its
// server. This one draws the message alone: at each level of content the person
// reads whose question or result it is, as far as the level allows.
func TestSend_B23_GoodTextWhenTheAppReadsNothing(t *testing.T) {
	t.Parallel()
	for level, texts := range map[push.Level][2]push.Text{
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
		s := before(t)
		to := decision().Address
		to.Level = level
		app := &offline{d: device.New(device.Config{Name: "phone", System: device.Android}), drawn: make(chan push.Text, 2)}
		t.Cleanup(app.d.Close)
		if err := app.d.Install(to.Topic, app); err != nil {
			t.Fatal(err)
		}
		if err := s.google.AddDevice(emulator.Registration{Token: to.Token, App: to.Topic, Phone: app.d}); err != nil {
			t.Fatal(err)
		}
		var got [2]push.Text
		for i, kind := range []push.Kind{push.DecisionRequired, push.ResultReady} {
			want(t, s.push(t, composed(kind, to)), push.OK, "")
			select {
			case got[i] = <-app.drawn:
			case <-t.Context().Done():
			}
		}
		if diff := cmp.Diff(texts, got); diff != "" {
			t.Errorf("%s: on the screen (-want +got):\n%s", level, diff)
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
