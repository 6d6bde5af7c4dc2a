package phone_test

import (
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/sync/proof"
)

func android(c *phone.Config) { c.Vendor, c.DeviceToken = phone.FCM, fcm.NewToken() }

// payloadOf is what travels about a decision; nil is none.
func (b *bench) payloadOf(kind v1.PushKind, d *v1.Decision) *v1.PushPayload {
	p := &v1.PushPayload{
		V: 1, Kind: kind, Account: accountTag,
		Badge: &v1.PushBadge{Count: 1, Epoch: base64.RawURLEncoding.EncodeToString([]byte(epoch)), Version: b.head()},
	}
	if d != nil {
		p.Thread, p.Task, p.Decision, p.Revision = d.GetThreadId(), d.GetTaskId(), d.GetId(), d.GetRevision()
		p.AskedDigest = proof.Digest(d.GetAskedDigest()).String()
	}
	if kind == v1.PushKind_PUSH_KIND_DECISION_REQUIRED {
		p.Actions = []*v1.PushAction{{Verb: "approve", Token: "tap-approve"}, {Verb: "deny", Token: "tap-deny"}}
	}
	return p
}

// data hands the phone a data message as Google does.
func (b *bench) data(id string, p *v1.PushPayload, more map[string]string) {
	b.t.Helper()
	raw, err := protojson.Marshal(p)
	b.check(err)
	fields := map[string]string{"beckon": string(raw), "tag": "dec/1"}
	maps.Copy(fields, more)
	b.device.Deliver(device.Notification{ID: id, App: topic, Wake: true, Data: fields})
}

var question = map[string]string{"title": "Builder needs a decision", "body": "Write it?", "channel": "beckon_decision_1"}

func TestAndroid_PairsAsWhatItIs(t *testing.T) {
	t.Parallel()
	b := paired(t, android)
	if b.installed.GetPlatform() != v1.Platform_PLATFORM_ANDROID {
		t.Errorf("the phone said %v", b.installed.GetPlatform())
	}
	if a := b.addresses[0]; a.GetKind() != v1.AddressKind_ADDRESS_KIND_FCM_TOKEN || a.GetEnvironment() != 0 || a.GetTopic() != topic {
		t.Errorf("registered %v", a)
	}
}

func TestAndroid_ShowsADataMessageByItsTag(t *testing.T) {
	t.Parallel()
	b := paired(t, android)
	d := b.ask()
	p := b.payloadOf(v1.PushKind_PUSH_KIND_DECISION_REQUIRED, d)
	b.data("message-1", p, question)
	b.wait(phone.Arrived)
	want := []phone.Alert{{
		Phone: "anna", Vendor: phone.FCM, Key: "dec/1", ID: "message-1", Title: "Builder needs a decision", Body: "Write it?",
		Push: "decision", Thread: "thr", Task: "tsk", Decision: "dec", Revision: 1, Buttons: []string{"approve", "deny"}, Badge: 1,
		Level: device.TimeSensitive,
	}}
	if diff := cmp.Diff(want, b.app.Screen(), whenever); diff != "" {
		t.Error(diff)
	}
	b.data("message-2", p, question) // the same again, as after an answer that was lost
	if _, err := b.app.History().Find(t.Context(), func(e phone.Event) bool { return e.Kind == phone.Arrived && e.Delivery == "message-2" }); err != nil {
		t.Fatal(err)
	}
	if got := len(b.app.Screen()); got != 1 || b.device.Rings(topic) != 1 {
		t.Errorf("shows %d alerts after %d rings, want 1 and 1", got, b.device.Rings(topic))
	}
	result, err := b.app.Press(t.Context(), "dec/1", phone.Approve)
	if err != nil || !result.Counted() || len(b.taps) != 1 || len(b.taps[0].Proof) == 0 {
		t.Errorf("the tap met %+v, %v", result, err)
	}
}

func TestAndroid_CancelsWhatIsWithdrawn(t *testing.T) {
	t.Parallel()
	b := paired(t, android)
	d := b.ask()
	b.data("message-1", b.payloadOf(v1.PushKind_PUSH_KIND_DECISION_REQUIRED, d), question)
	b.wait(phone.Arrived)
	b.data("message-2", b.payloadOf(v1.PushKind_PUSH_KIND_WITHDRAW, d), nil)
	if e := b.wait(phone.Withdrawn); e.Removed != 1 || e.Decision != "dec" || e.Push != "withdraw" {
		t.Errorf("took back as %+v", e)
	}
	if got := b.app.Screen(); len(got) != 0 || b.device.Rings(topic) != 1 {
		t.Errorf("still shows %v after %d rings", got, b.device.Rings(topic))
	}
}

// What is not for this account, or not to be read, never comes on the screen.
func TestAndroid_ShowsNothingItShouldNot(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*v1.PushPayload)
		fields map[string]string
		off    bool
		want   error
	}{
		"another account": {change: func(p *v1.PushPayload) { p.Account = "somebody else's" }, fields: question, want: phone.ErrForeign},
		"no title":        {fields: map[string]string{"body": "x"}, want: phone.ErrMalformed},
		"no tag":          {fields: map[string]string{"title": "x", "tag": ""}, want: phone.ErrMalformed},
		"no payload":      {fields: map[string]string{"title": "x", "beckon": ""}, want: phone.ErrMalformed},
		"switched off":    {fields: question, off: true, want: phone.ErrHidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := paired(t, android)
			p := b.payloadOf(v1.PushKind_PUSH_KIND_DECISION_REQUIRED, b.ask())
			if c.change != nil {
				c.change(p)
			}
			b.device.SetNotifications(topic, !c.off)
			b.data("message-1", p, c.fields)
			if e := b.wait(phone.Dropped); !strings.Contains(e.Error, c.want.Error()) {
				t.Errorf("dropped because %q, want %v", e.Error, c.want)
			}
			if got := b.app.Screen(); len(got) != 0 || b.device.Rings(topic) != 0 {
				t.Errorf("shows %v", got)
			}
		})
	}
}

func TestWithdraw_LeavesTheScreenOfAnIPhone(t *testing.T) {
	t.Parallel()
	b := paired(t)
	d := b.ask()
	b.push(d)
	arrived := false
	_, err := b.app.History().Find(t.Context(), func(e phone.Event) bool {
		arrived = arrived || e.Kind == phone.Arrived
		return arrived && e.Kind == phone.Synced // a read on its way would tidy the screen itself
	})
	b.check(err)
	b.deliver("push-2", "dec/1", "", b.payloadOf(v1.PushKind_PUSH_KIND_WITHDRAW, d))
	if e := b.wait(phone.Withdrawn); e.Removed != 1 {
		t.Errorf("took back as %+v", e)
	}
	if _, err := b.app.Press(t.Context(), "dec/1", phone.Deny); !errors.Is(err, device.ErrNotShown) {
		t.Errorf("a tap on it: %v", err)
	}
}

// A test push is about no thread, so no read of the account may take it away.
func TestTest_StaysUntilThePersonPutsItAway(t *testing.T) {
	t.Parallel()
	for name, with := range map[string][]func(*phone.Config){"iphone": nil, "android": {android}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := paired(t, with...)
			p := b.payloadOf(v1.PushKind_PUSH_KIND_TEST, nil)
			if with != nil {
				b.data("push-1", p, map[string]string{"title": "Beckon can reach this device", "channel": "beckon_result_1"})
			} else {
				b.deliver("push-1", "test", "", p)
			}
			arrived := b.wait(phone.Arrived)
			b.check(b.app.Sync(t.Context()))
			if got := b.app.Screen(); len(got) != 1 || arrived.Push != "test" {
				t.Errorf("shows %v", got)
			}
		})
	}
}

func TestAndroid_ReadsWhatFCMGaveUp(t *testing.T) {
	t.Parallel()
	b := paired(t, android)
	before := len(b.app.History().All())
	b.app.MessagesDeleted(t.Context())
	all := b.app.History().All()
	if got := all[before:]; len(got) != 1 || got[0].Kind != phone.Synced {
		t.Errorf("did %v", got)
	}
}
