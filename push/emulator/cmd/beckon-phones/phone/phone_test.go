package phone_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/timestamppb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

func TestPair_ShowsDigitsAndRegisters(t *testing.T) {
	t.Parallel()
	b := unpaired(t)
	var digits string
	b.check(b.app.Pair(t.Context(), b.url, "", code, func(d string) { digits = d }))
	if digits != "4711" {
		t.Errorf("showed %q", digits)
	}
	s := b.app.State()
	if s.Account != "acc" || s.Installation != "ins" || s.ServerID != "srv" || s.AccountTag != accountTag {
		t.Errorf("the phone belongs to %+v", s)
	}
	if len(b.addresses) != 1 || b.addresses[0].GetToken() != deviceToken || b.addresses[0].GetTopic() != topic ||
		b.addresses[0].GetEnvironment() != v1.ApnsEnvironment_APNS_ENVIRONMENT_SANDBOX {
		t.Errorf("registered %v", b.addresses)
	}
	if b.installed.GetLabel() != "anna" || b.installed.GetPlatform() != v1.Platform_PLATFORM_IOS ||
		len(b.installed.GetApprovalKey()) != 65 || string(b.installed.GetApprovalKey()) == string(b.installed.GetPublicKey()) {
		t.Errorf("the phone said %v", b.installed)
	}
}

func TestPair_RefusedLeavesThePhoneAsItWas(t *testing.T) {
	t.Parallel()
	b := unpaired(t)
	b.refused = true
	if err := b.app.Pair(t.Context(), b.url, "", code, func(string) {}); !errors.Is(err, phone.ErrPairing) {
		t.Errorf("error = %v, want ErrPairing", err)
	}
	if b.app.State().Paired() {
		t.Error("the phone thinks it is paired")
	}
	if err := b.app.Pair(t.Context(), "http://example.com", "", code, func(string) {}); !errors.Is(err, phone.ErrServer) {
		t.Errorf("plain http beyond this machine: %v, want ErrServer", err)
	}
	if err := b.app.Sync(t.Context()); !errors.Is(err, phone.ErrNotPaired) {
		t.Errorf("sync = %v, want ErrNotPaired", err)
	}
}

func TestRefresh_LostAnswerIsAskedForAgainAfterARestart(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.device.Close()
	b.app.Close()
	b.loseRefresh = true
	b.start()
	ctx, cancel := context.WithCancel(t.Context())
	if err := b.app.Sync(ctx); err == nil {
		t.Fatal("the lost answer did not arrive at all?")
	}
	cancel()
	if b.app.State().Attempt == "" {
		t.Fatal("the attempt was not kept")
	}
	b.device.Close()
	b.app.Close()
	b.start()
	b.check(b.app.Sync(t.Context()))
	if len(b.asked) != 2 || b.asked[0].GetAttempt() != b.asked[1].GetAttempt() || b.asked[0].GetRefreshToken() != b.asked[1].GetRefreshToken() {
		t.Errorf("exchanges %v are not one attempt", b.asked)
	}
	if s := b.app.State(); s.Refresh != "refresh-1" || s.Attempt != "" {
		t.Errorf("holds %q with attempt %q", s.Refresh, s.Attempt)
	}
}

func TestAccess_RenewedWhenTheServerSaysSo(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.mu.Lock()
	b.access = "another"
	b.mu.Unlock()
	b.check(b.app.Sync(t.Context()))
	if len(b.asked) != 1 {
		t.Errorf("%d exchanges, want 1", len(b.asked))
	}
}

// whenever ignores when an alert appeared.
var whenever = cmpopts.IgnoreFields(phone.Alert{}, "At")

func TestPush_ShowsButtonsAndBadge(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d)
	b.wait(phone.Arrived)
	want := []phone.Alert{{
		Phone: "anna", Vendor: phone.APNs, Key: "dec/1", ID: "push-1", Title: "Builder needs a decision", Body: "Write it?", Push: "decision",
		Thread: "thr", Task: "tsk", Decision: "dec", Revision: 1, Buttons: []string{"approve", "deny"}, Badge: 1,
		Level: device.Active,
	}}
	if diff := cmp.Diff(want, b.app.Screen(), whenever); diff != "" {
		t.Error(diff)
	}
}

func TestPush_OfAnotherAccountIsDropped(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d, func(p *v1.PushPayload) { p.Account, p.Badge.Count = "somebody else's", 7 })
	if e := b.wait(phone.Dropped); !strings.Contains(e.Error, "another account") {
		t.Errorf("dropped because %q", e.Error)
	}
	if len(b.app.Screen()) != 0 || b.device.Badge(topic) != 0 {
		t.Errorf("still shows %v with badge %d", b.app.Screen(), b.device.Badge(topic))
	}
	if _, err := b.app.Press(t.Context(), "dec/1", phone.Deny); err == nil {
		t.Error("a dropped push can be tapped")
	}
}

func TestPush_LateBadgeIsPutBack(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.mu.Lock()
	b.put(v1.EntityKind_ENTITY_KIND_COUNTERS, "", "counters", &v1.Counters{OpenDecisions: 3, Badge: 3})
	b.mu.Unlock()
	b.check(b.app.Sync(t.Context()))
	b.push(d, func(p *v1.PushPayload) { p.Badge.Count, p.Badge.Version = 1, 1 })
	e := b.wait(phone.Arrived)
	if e.Badge == nil || *e.Badge != 3 {
		t.Errorf("badge %v after a late push, want 3", e.Badge)
	}
	b.deliver("push-2", "dec/2", "BECKON_DECISION", &v1.PushPayload{
		V: 1, Kind: v1.PushKind_PUSH_KIND_DECISION_REQUIRED, Account: accountTag, Decision: "dec", Thread: "thr",
		Badge: &v1.PushBadge{Count: 2, Epoch: base64.RawURLEncoding.EncodeToString([]byte("another")), Version: 1},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	e, err := b.app.History().Find(ctx, func(e phone.Event) bool { return e.Delivery == "push-2" })
	b.check(err)
	if *e.Badge != 2 {
		t.Errorf("badge %d of another epoch, want 2", *e.Badge)
	}
}

func TestPush_ButtonsHideAfterTheDeadline(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d, func(p *v1.PushPayload) { p.ExpireTime = timestamppb.New(time.Now().Add(-time.Second)) })
	b.wait(phone.Arrived)
	if got := b.app.Screen()[0].Buttons; got != nil {
		t.Errorf("shows %v", got)
	}
	if _, err := b.app.Press(t.Context(), "dec/1", phone.Deny); !errors.Is(err, phone.ErrNoButton) {
		t.Errorf("error = %v, want ErrNoButton", err)
	}
	if len(b.taps) != 0 {
		t.Error("a tap was sent")
	}
}

func TestPress_ApproveCarriesTheProof(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.push(b.ask())
	b.wait(phone.Arrived)
	result, err := b.app.Press(t.Context(), "dec/1", phone.Approve)
	b.check(err)
	if result.Outcome != "APPLIED" || result.Winner.Label != "anna" || result.Status != http.StatusOK {
		t.Errorf("result %+v", result)
	}
	if len(b.taps) != 1 || b.taps[0].Token != "tap-approve" || len(b.taps[0].Proof) != 64 {
		t.Errorf("sent %v", b.taps)
	}
	if len(b.app.Screen()) != 0 || b.device.Badge(topic) != 0 {
		t.Errorf("still shows %v with badge %d", b.app.Screen(), b.device.Badge(topic))
	}
}

func TestPress_DenyIsTheTokenAlone(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.push(b.ask())
	b.wait(phone.Arrived)
	result, err := b.app.Press(t.Context(), "dec/1", phone.Deny)
	b.check(err)
	if result.Outcome != "APPLIED" || len(b.taps) != 1 || b.taps[0].Token != "tap-deny" || b.taps[0].Proof != nil {
		t.Errorf("result %+v after %v", result, b.taps)
	}
}

func TestPress_LostAnswerIsAskedForAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.push(b.ask())
	b.wait(phone.Arrived)
	b.act = func(w http.ResponseWriter, _ *http.Request) {
		if len(b.taps) == 1 {
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write([]byte(`{"outcome":"SAME"}`))
	}
	result, err := b.app.Press(t.Context(), "dec/1", phone.Approve)
	b.check(err)
	if result.Outcome != "SAME" || len(b.taps) != 2 || b.taps[0].AnswerKey != b.taps[1].AnswerKey {
		t.Errorf("result %+v after %v", result, b.taps)
	}
}

func TestPress_NotCountedIsSaidOnTheScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body, title string
		status            int
	}{
		{"conflict", `{"outcome":"CONFLICT","winner":{"installation_label":"Web"}}`, "Already answered on Web", 200},
		{"late", `{"outcome":"EXPIRED"}`, "Too late", 200},
		{"changed", `{"outcome":"STALE"}`, "The question has changed", 200},
		{"closed", `{"outcome":"CLOSED"}`, "No longer asked", 200},
		{"refused", `{"error":{"reason":"BAD_TOKEN"}}`, "Not answered from here", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := paired(t)
			b.push(b.ask())
			b.wait(phone.Arrived)
			b.act = func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}
			_, err := b.app.Press(t.Context(), "dec/1", phone.Deny)
			if refused, ok := errors.AsType[*phone.RefusedError](err); !ok || refused.Result.Counted() {
				t.Errorf("error = %v", err)
			}
			screen := b.app.Screen()
			if len(screen) != 1 || screen[0].Title != c.title || screen[0].Buttons != nil {
				t.Errorf("screen %+v", screen)
			}
			if n := b.device.Rings(topic); n != 1 {
				t.Errorf("rang %d times", n)
			}
		})
	}
}

func TestPress_SignsNothingThatDiffersFromThePush(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d)
	b.wait(phone.Arrived)
	b.mu.Lock()
	d.Items[0].Action.ArgsJson = []byte(`{"name":"something else"}`)
	b.mu.Unlock()
	if _, err := b.app.Press(t.Context(), "dec/1", phone.Approve); !errors.Is(err, phone.ErrDigest) {
		t.Errorf("error = %v, want ErrDigest", err)
	}
	if len(b.taps) != 0 {
		t.Error("a tap was sent")
	}
}

func TestFaults_AreSeenByTheServer(t *testing.T) {
	t.Parallel()
	token := "h." + base64.RawURLEncoding.EncodeToString([]byte(`{"verb":"deny"}`)) + ".s"
	for _, c := range []struct {
		fault  phone.Fault
		verb   string
		tokens []string
		proof  bool
	}{
		{"", phone.Deny, []string{token}, false},
		{phone.WrongKey, phone.Approve, []string{"tap-approve"}, true},
		{phone.NoProof, phone.Approve, []string{"tap-approve"}, false},
		{phone.Replay, phone.Deny, []string{token, token}, false},
		{phone.WrongVerb, phone.Approve, []string{token}, true},
		{phone.WrongVerb, phone.Deny, []string{"tap-approve"}, false},
		{phone.ForgedToken, phone.Deny, []string{"h." + base64.RawURLEncoding.EncodeToString([]byte(`{"verb":"approve"}`)) + ".s"}, false},
	} {
		t.Run(string(c.fault)+" "+c.verb, func(t *testing.T) {
			t.Parallel()
			b := paired(t)
			b.push(b.ask(), func(p *v1.PushPayload) { p.Actions[1].Token = token })
			b.wait(phone.Arrived)
			b.app.SetFault(c.fault)
			_, err := b.app.Press(t.Context(), "dec/1", c.verb)
			var tokens []string
			for _, sent := range b.taps {
				tokens = append(tokens, sent.Token)
				if (len(sent.Proof) > 0) != c.proof {
					t.Errorf("proof of %d bytes", len(sent.Proof))
				}
			}
			if diff := cmp.Diff(c.tokens, tokens); diff != "" {
				t.Error(diff)
			}
			if len(b.taps) == 2 && b.taps[0].AnswerKey == b.taps[1].AnswerKey {
				t.Error("a replay under the same key is a repeat")
			}
			refused, _ := errors.AsType[*phone.RefusedError](err)
			if c.fault == phone.WrongKey && (refused == nil || refused.Result.Reason != "BAD_PROOF") {
				t.Errorf("the wrong key met %v", err)
			}
		})
	}
}

func TestAuto_TapsWhereTheButtonIs(t *testing.T) {
	t.Parallel()
	b := paired(t, func(c *phone.Config) { c.Auto = phone.Approve })
	d := b.ask()
	b.deliver("push-0", "dec/0", "BECKON_DECISION_DENY", &v1.PushPayload{
		V: 1, Kind: v1.PushKind_PUSH_KIND_DECISION_REQUIRED, Account: accountTag, Thread: "thr", Decision: "dec", Revision: 1,
		Badge:   &v1.PushBadge{Count: 1, Epoch: base64.RawURLEncoding.EncodeToString([]byte(epoch)), Version: b.head()},
		Actions: []*v1.PushAction{{Verb: "deny", Token: "tap-deny"}},
	})
	b.push(d)
	e := b.wait(phone.Tapped)
	if !e.Auto || e.Action != phone.Approve || e.Result.Outcome != "APPLIED" || e.Delivery != "push-1" {
		t.Errorf("tapped %+v with %+v", e, e.Result)
	}
	if len(b.taps) != 1 {
		t.Errorf("sent %d taps", len(b.taps))
	}
}

func TestSync_RemovesWhatWasHandledElsewhere(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d)
	b.wait(phone.Arrived)
	b.check(b.app.Sync(t.Context()))
	if len(b.app.Screen()) != 1 {
		t.Fatal("an open question was taken off the screen")
	}
	b.mu.Lock()
	b.resolve(d)
	b.mu.Unlock()
	b.check(b.app.Sync(t.Context()))
	if len(b.app.Screen()) != 0 || b.device.Badge(topic) != 0 {
		t.Errorf("still shows %v with badge %d", b.app.Screen(), b.device.Badge(topic))
	}
}

func TestOpen_AnswersInTheApp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		class  v1.EffectClass
		needed v1.Step
		sent   int
	}{
		{"with the install key", v1.EffectClass_EFFECT_CLASS_OUTWARD, 0, 1},
		{"with the approval key from class 4", v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE, v1.Step_STEP_VERIFIED, 1},
		{"with the approval key when asked for it", v1.EffectClass_EFFECT_CLASS_OUTWARD, v1.Step_STEP_VERIFIED, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := paired(t)
			b.needed = c.needed
			b.push(b.ask(func(d *v1.Decision) { d.EffectClass = c.class }))
			b.wait(phone.Arrived)
			if _, err := b.app.Answer(t.Context(), []string{"approve"}, ""); !errors.Is(err, phone.ErrNotOpen) {
				t.Errorf("unseen: %v, want ErrNotOpen", err)
			}
			card, err := b.app.Tap(t.Context(), "dec/1")
			b.check(err)
			if card.Title != "Write it?" || card.State != "PENDING" || len(card.Items) != 1 || len(card.Items[0].Options) != 2 {
				t.Errorf("card %+v", card)
			}
			if _, err := b.app.Answer(t.Context(), []string{"maybe"}, ""); !errors.Is(err, phone.ErrOption) {
				t.Errorf("unknown option: %v, want ErrOption", err)
			}
			result, err := b.app.Answer(t.Context(), []string{"approve"}, "")
			b.check(err)
			if result.Outcome != "APPLIED" || len(b.answers) != c.sent {
				t.Errorf("result %+v after %d answers", result, len(b.answers))
			}
		})
	}
}

func TestOpen_MarksResultsRead(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.mu.Lock()
	b.put(v1.EntityKind_ENTITY_KIND_THREAD_HEADER, "", "thr", &v1.Thread{Id: "thr", NotableHead: 3, Unread: 3, ReadMark: &v1.ReadMark{Generation: 2}})
	b.put(v1.EntityKind_ENTITY_KIND_TASK_HEADER, "", "tsk", &v1.TaskHeader{Id: "tsk", Title: "Test the packages"})
	b.put(v1.EntityKind_ENTITY_KIND_COUNTERS, "", "counters", &v1.Counters{UnreadThreads: 1, Badge: 1})
	b.put(v1.EntityKind_ENTITY_KIND_ITEM, "thr", "itm", &v1.Item{
		Id: "itm", TaskId: "tsk", Position: 9, Kind: v1.ItemKind_ITEM_KIND_RESULT,
		Parts: []*v1.Part{{Part: &v1.Part_Text{Text: "All green."}}},
	})
	b.mu.Unlock()
	b.deliver("push-9", "tsk", "BECKON_RESULT", &v1.PushPayload{
		V: 1, Kind: v1.PushKind_PUSH_KIND_RESULT_READY, Account: accountTag, Thread: "thr", Task: "tsk",
		Badge: &v1.PushBadge{Count: 1, Epoch: base64.RawURLEncoding.EncodeToString([]byte(epoch)), Version: b.head()},
	})
	b.wait(phone.Arrived)
	card, err := b.app.Tap(t.Context(), "tsk")
	b.check(err)
	if card.State != "RESULT" || card.Title != "Test the packages" || card.Text != "All green." {
		t.Errorf("card %+v", card)
	}
	if len(b.marks) != 1 || b.marks[0].GetReadMark().GetNotablePosition() != 3 || b.marks[0].GetReadMark().GetGeneration() != 2 {
		t.Errorf("marked %v", b.marks)
	}
	if b.device.Badge(topic) != 0 {
		t.Errorf("badge %d", b.device.Badge(topic))
	}
}

func TestRestart_KeepsThePairing(t *testing.T) {
	t.Parallel()
	b := paired(t)
	b.device.Close()
	b.app.Close()
	b.start()
	b.check(b.app.Register(t.Context()))
	b.push(b.ask())
	b.wait(phone.Arrived)
	result, err := b.app.Press(t.Context(), "dec/1", phone.Approve)
	b.check(err)
	if result.Outcome != "APPLIED" {
		t.Errorf("result %+v", result)
	}
}
