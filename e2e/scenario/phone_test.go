package scenario_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/server/policy"
)

const (
	annaToken = "aa112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	benToken  = "bb112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	class2    = v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE
)

// refusedFor asserts that a tap was turned down, with one of the reasons.
func refusedFor(t *testing.T, result phone.Result, err error, reasons ...string) {
	t.Helper()
	refused, ok := errors.AsType[*phone.RefusedError](err)
	if !ok {
		t.Fatalf("met %+v with %v, want a refusal", result, err)
	}
	if got := refused.Result.Reason; !slices.Contains(reasons, got) {
		t.Errorf("refused for %q (outcome %q), want one of %q", got, refused.Result.Outcome, reasons)
	}
}

func TestPhone_ApprovesFromTheLockScreen(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna, ben := w.handset("anna", annaToken), w.handset("ben", benToken)
	anna.pair(w.desk)
	ben.pair(w.desk)
	claim, d := w.ask("report", class2)
	a := anna.arrived(1)
	if a.Title != "Builder needs a decision" || !slices.Equal(a.Buttons, []string{"approve", "deny"}) || a.Badge != 1 || a.Decision != d.GetId() {
		t.Errorf("shows %+v", a)
	}
	ben.arrived(1)
	result, err := anna.Press(t.Context(), a.Key, phone.Approve)
	w.check(err)
	if result.Outcome != "APPLIED" || result.Winner.Label != "anna" {
		t.Errorf("met %+v", result)
	}
	got := w.state(d.GetId())
	if got.GetState() != v1.DecisionState_DECISION_STATE_RESOLVED || len(got.GetGrants()) != 1 ||
		got.GetAnswer().GetSurface() != v1.Surface_SURFACE_NOTIFICATION || got.GetAnswer().GetInstallationId() != anna.State().Installation {
		t.Errorf("the decision is %v", got)
	}
	if len(anna.Screen()) != 0 || anna.device.Badge(phoneTopic) != 0 {
		t.Errorf("anna still shows %v", anna.Screen())
	}

	// The other phone learns of it at its next sync, and cannot tap it before.
	w.check(ben.Sync(t.Context()))
	if len(ben.Screen()) != 0 || ben.device.Badge(phoneTopic) != 0 {
		t.Errorf("ben still shows %v with badge %d", ben.Screen(), ben.device.Badge(phoneTopic))
	}

	_, err = w.agent.CompleteTask(t.Context(), &v1.CompleteTaskRequest{
		TaskId: claim.GetTask().GetId(), LeaseId: claim.GetLeaseId(), Result: &v1.TaskResult{Summary: "Written."},
	})
	w.check(err)
	done := anna.arrived(2)
	if done.Push != "result" || done.Title != "Builder finished" || done.Badge != 1 {
		t.Errorf("shows %+v", done)
	}
	card, err := anna.Tap(t.Context(), done.Key)
	w.check(err)
	if card.State != "RESULT" || anna.device.Badge(phoneTopic) != 0 {
		t.Errorf("opened %+v with badge %d", card, anna.device.Badge(phoneTopic))
	}
	if n := anna.device.Rings(phoneTopic); n != 2 {
		t.Errorf("rang %d times, want 2", n)
	}
}

func TestPhone_DeniesWithTheTokenAlone(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	_, d := w.ask("report", class2)
	result, err := anna.Press(t.Context(), anna.arrived(1).Key, phone.Deny)
	w.check(err)
	got := w.state(d.GetId())
	if result.Outcome != "APPLIED" || got.GetAnswer().GetItems()[0].GetOptionIds()[0] != "deny" || len(got.GetGrants()) != 0 {
		t.Errorf("met %+v, the decision is %v", result, got)
	}
}

func TestPhone_FaultyTapsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   phone.Fault
		verb    string
		reasons []string
	}{
		{phone.WrongKey, phone.Approve, []string{"BAD_PROOF"}},
		{phone.WrongVerb, phone.Approve, []string{"BAD_PROOF"}},
		{phone.ForgedToken, phone.Approve, []string{"BAD_TOKEN"}},
		{phone.ForgedToken, phone.Deny, []string{"BAD_TOKEN"}},
	} {
		t.Run(string(c.fault)+" "+c.verb, func(t *testing.T) {
			t.Parallel()
			w := newPhoneWorld(t)
			anna := w.handset("anna", annaToken)
			anna.pair(w.desk)
			_, d := w.ask("report", class2)
			key := anna.arrived(1).Key
			anna.SetFault(c.fault)
			result, err := anna.Press(t.Context(), key, c.verb)
			refusedFor(t, result, err, c.reasons...)
			w.untouched(d.GetId())
		})
	}
}

// TestPhone_ApproveNeedsTheProof taps with the approving token and no proof: once
// plainly, once as the button of a refusal.
func TestPhone_ApproveNeedsTheProof(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault phone.Fault
		verb  string
	}{{phone.NoProof, phone.Approve}, {phone.WrongVerb, phone.Deny}} {
		t.Run(string(c.fault), func(t *testing.T) {
			t.Parallel()
			w := newPhoneWorld(t)
			anna := w.handset("anna", annaToken)
			anna.pair(w.desk)
			_, d := w.ask("report", class2)
			key := anna.arrived(1).Key
			anna.SetFault(c.fault)
			result, err := anna.Press(t.Context(), key, c.verb)
			if _, ok := errors.AsType[*phone.RefusedError](err); !ok || (result.Outcome != "NEEDS_VIEW" && result.Outcome != "NEEDS_STEP_UP") {
				t.Errorf("met %+v with %v", result, err)
			}
			w.untouched(d.GetId())
		})
	}
}

func TestPhone_ReplayIsTheSameAnswer(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	_, d := w.ask("report", class2)
	key := anna.arrived(1).Key
	anna.SetFault(phone.Replay)
	result, err := anna.Press(t.Context(), key, phone.Approve)
	w.check(err)
	got := w.state(d.GetId())
	if result.Outcome != "SAME" || len(got.GetGrants()) != 1 || got.GetAnswer().GetAnswerKey() == result.AnswerKey {
		t.Errorf("the second use met %+v, the decision is %v", result, got)
	}
}

func TestPhone_ExpiredTapIsRefused(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{phone.Approve, phone.Deny} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			w := newPhoneWorld(t)
			anna := w.handset("anna", annaToken)
			anna.pair(w.desk)
			_, d := w.ask("report", class2)
			key := anna.arrived(1).Key
			w.advance(61 * time.Minute)
			result, err := anna.Press(t.Context(), key, verb)
			refusedFor(t, result, err, "EXPIRED")
			w.advance(-61 * time.Minute) // the desk's own token is young again
			w.untouched(d.GetId())
		})
	}
}

func TestPhone_TapOfAnotherPhoneIsRefused(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna, ben := w.handset("anna", annaToken), w.handset("ben", benToken)
	anna.pair(w.desk)
	ben.pair(w.desk)
	_, d := w.ask("report", class2)
	stolen := anna.shown(anna.arrived(1).Key)
	err := ben.Act(t.Context(), stolen, phone.Approve)
	refusedFor(t, phone.Result{}, err, "BAD_PROOF")
	w.untouched(d.GetId())
}

func TestPhone_TapOfARevokedPhoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{phone.Approve, phone.Deny} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			w := newPhoneWorld(t)
			anna := w.handset("anna", annaToken)
			anna.pair(w.desk)
			_, d := w.ask("report", class2)
			key := anna.arrived(1).Key
			_, err := w.desk.RevokeInstallation(t.Context(), &v1.RevokeInstallationRequest{InstallationId: anna.State().Installation})
			w.check(err)
			result, err := anna.Press(t.Context(), key, verb)
			if result.Counted() || err == nil || result.Reason != "REVOKED" {
				t.Errorf("met %+v with %v", result, err)
			}
			w.untouched(d.GetId())
		})
	}
}

// TestPhone_TapOfAMovedPhoneIsRefused pairs the phone again while an old push is
// on its screen: in the same account as a new installation, then in another one.
func TestPhone_TapOfAMovedPhoneIsRefused(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	_, d := w.ask("report", class2)
	old := anna.shown(anna.arrived(1).Key)
	anna.pair(w.desk)
	err := anna.Act(t.Context(), old, phone.Approve)
	refusedFor(t, phone.Result{}, err, "BAD_PROOF")
	w.untouched(d.GetId())

	anna.pair(w.secondDesk())
	if err := anna.Act(t.Context(), old, phone.Deny); !errors.Is(err, phone.ErrForeign) {
		t.Errorf("in another account: %v, want ErrForeign", err)
	}
	w.untouched(d.GetId())
}

// secondDesk is the first device of a second person.
func (w *phoneWorld) secondDesk() callers {
	w.t.Helper()
	link, err := w.server.App().AddAccount(w.t.Context(), policy.Principal{Kind: policy.Operator})
	w.check(err)
	return w.claim(link.Secret.Reveal())
}

// TestPhone_DropsThePushOfAnotherAccount lets the vendor deliver what was on its
// way when the phone changed hands.
func TestPhone_DropsThePushOfAnotherAccount(t *testing.T) {
	t.Parallel()
	w := newPhoneWorld(t)
	anna := w.handset("anna", annaToken)
	anna.pair(w.desk)
	w.ask("report", class2)
	onTheWay := anna.shown(anna.arrived(1).Key)
	anna.pair(w.secondDesk())
	if len(anna.Screen()) != 0 {
		t.Errorf("the new person sees %v", anna.Screen())
	}
	anna.device.Deliver(onTheWay)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := anna.History().Find(ctx, func(e phone.Event) bool { return e.Kind == phone.Dropped })
	w.check(err)
	if len(anna.Screen()) != 0 || anna.device.Badge(phoneTopic) != 0 {
		t.Errorf("shows %v with badge %d", anna.Screen(), anna.device.Badge(phoneTopic))
	}
}

func TestPhone_OpensAndAnswersInTheApp(t *testing.T) {
	t.Parallel()
	for _, class := range []v1.EffectClass{v1.EffectClass_EFFECT_CLASS_OUTWARD, v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE} {
		t.Run(class.String(), func(t *testing.T) {
			t.Parallel()
			w := newPhoneWorld(t)
			anna := w.handset("anna", annaToken)
			anna.pair(w.desk)
			_, d := w.ask("report", class)
			a := anna.arrived(1)
			if slices.Contains(a.Buttons, phone.Approve) {
				t.Error("the lock screen offers to approve", class)
			}
			card, err := anna.Tap(t.Context(), a.Key)
			w.check(err)
			if card.Decision != d.GetId() || len(card.Items) != 1 || len(card.Items[0].Facts) == 0 {
				t.Errorf("opened %+v", card)
			}
			result, err := anna.Answer(t.Context(), []string{"approve"}, "")
			w.check(err)
			if got := w.state(d.GetId()); result.Outcome != "APPLIED" || got.GetAnswer().GetSurface() != v1.Surface_SURFACE_APP {
				t.Errorf("met %+v, the decision is %v", result, got)
			}
		})
	}
}
