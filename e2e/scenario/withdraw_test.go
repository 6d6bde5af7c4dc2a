package scenario_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

// B3: one phone answers from its lock screen; within five seconds the alert of
// the other one is gone, by a push, without anybody touching that phone and
// without another ring. The list of deliveries tells the same.
func TestWithdraw_B3_ApproveOnOneAndTheOtherIsQuiet(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna, ben := w.handset("anna", annaToken), w.handset("ben", benToken)
	anna.pair(w.desk)
	ben.pair(w.desk)
	_, d := w.ask("report", class2)
	a := anna.arrived(1)
	ben.arrived(1)
	_, err := anna.Press(t.Context(), a.Key, phone.Approve)
	w.check(err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	// It replaces the alert, or comes quietly where the app's own sync was
	// faster; either way the app, woken by it, takes it off the screen.
	withdrawn := false
	_, err = ben.device.History().Find(ctx, func(e device.Event) bool {
		if e.Tag == a.Key && !e.Resend && (e.Kind == device.Replaced || e.Kind == device.Appeared) {
			withdrawn = true
		}
		return withdrawn && e.Kind == device.Removed && e.Tag == a.Key
	})
	w.check(err)
	if n := ben.device.Rings(phoneTopic); n != 1 {
		t.Errorf("ben's phone rang %d times", n)
	}
	res, err := w.desk.ListDeliveries(t.Context(), &v1.ListDeliveriesRequest{SubjectId: d.GetId()})
	w.check(err)
	told := map[string]bool{}
	for _, row := range res.GetDeliveries() {
		told[row.GetInstallationLabel()+" "+row.GetKind().String()] = true
		if row.GetSentence() == "" || !strings.HasPrefix(row.GetId(), "dlv_") {
			t.Errorf("a row says %v", row)
		}
	}
	for _, want := range []string{"anna PUSH_KIND_DECISION_REQUIRED", "ben PUSH_KIND_DECISION_REQUIRED", "ben PUSH_KIND_WITHDRAW"} {
		if !told[want] {
			t.Errorf("no row for %s in %v", want, told)
		}
	}
	if told["anna PUSH_KIND_WITHDRAW"] {
		t.Error("the phone that answered was told to withdraw")
	}
}

// B24: when the time to answer is over, a button that is still drawn, as on a
// phone whose clock is behind, is EXPIRED. One that goes right hides it by itself.
func TestTap_B24_AButtonDoesNotOutliveItsQuestion(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	_, d := w.ask("report", class2, func(r *v1.RequestDecisionRequest) { r.Timeout = durationpb.New(time.Hour) })
	a := anna.arrived(1)
	if len(a.Buttons) != 2 {
		t.Fatalf("shows %v", a.Buttons)
	}
	w.advance(time.Hour)
	result, err := anna.Press(t.Context(), a.Key, phone.Deny)
	if result.Outcome != "EXPIRED" || err == nil {
		t.Errorf("a late tap met %+v, %v", result, err)
	}
	w.advance(-time.Hour) // the desk's own token is young again
	if got := w.state(d.GetId()); got.GetAnswer() != nil {
		t.Errorf("answered: %v", got.GetAnswer())
	}
}

// B37: two taps on a button of an app that is not running: one effect, and the
// alert is gone with the first.
func TestTap_B37_TwiceWithTheAppDead(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	_, d := w.ask("report", class2)
	a := anna.arrived(1)
	anna.device.ForceQuit(phoneTopic)
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := anna.Press(t.Context(), a.Key, phone.Approve)
			errs <- err
		}()
	}
	first, second := <-errs, <-errs
	if (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), device.ErrNotShown) {
		t.Errorf("the taps met %v and %v", first, second)
	}
	if got := anna.Screen(); len(got) != 0 {
		t.Errorf("still shows %v", got)
	}
	got := w.state(d.GetId())
	if got.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED || len(got.GetGrants()) != 1 {
		t.Errorf("the decision is %v with grants %v", got.GetState(), got.GetGrants())
	}
}
