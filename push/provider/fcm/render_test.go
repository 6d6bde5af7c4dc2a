package fcm_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	beckonv1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func result() push.Message {
	m := decision()
	m.Address.Kind, m.Address.Token = push.KindFCMFID, "dQw4w9WgXcQ_-abcdefghi"
	m.Text = push.Text{Title: "A result is ready"}
	m.Payload = push.Payload{
		Kind: push.ResultReady, Account: "tag", Subject: push.Subject{Thread: "thr_r_1", Task: "tsk_r_1", Version: 1},
		AsOf: "c3RhbXA", Badge: push.Badge{Count: 0, Epoch: "ZQ", Version: 8},
	}
	return m
}

func withdrawal() push.Message {
	m := decision()
	m.Text = push.Text{Title: "Handled on another device"}
	m.Payload.Kind, m.Payload.Actions = push.Withdraw, nil
	return m
}

func TestRender_Golden(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]push.Message{"decision_token": decision(), "result_fid": result(), "withdraw": withdrawal()} {
		message, err := fcm.Render(m, t0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := json.MarshalIndent(message, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".json")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Four collapse keys are all a device has, and the system draws notifications
// without asking whose account they are for.
func TestRender_NeitherCollapseKeyNorNotification(t *testing.T) {
	t.Parallel()
	for _, m := range []push.Message{decision(), result()} {
		message, err := fcm.Render(m, t0)
		if err != nil {
			t.Fatal(err)
		}
		if message.Notification != nil || message.Android.Notification != nil || message.Android.CollapseKey != "" || message.APNS != nil || message.Webpush != nil {
			t.Errorf("%+v", message)
		}
		if message.Data[fcm.KeyTag] != m.CollapseID {
			t.Errorf("tag %q", message.Data[fcm.KeyTag])
		}
		for key := range message.Data {
			if key == "from" || key == "message_type" || strings.HasPrefix(key, "google") || strings.HasPrefix(key, "gcm") {
				t.Errorf("%q is reserved", key)
			}
		}
	}
}

func TestRender_LifespanFollowsTheDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		expires time.Time
		want    time.Duration
	}{
		"now or never":     {time.Time{}, 0},
		"past":             {t0.Add(-time.Hour), 0},
		"soon":             {t0.Add(900 * time.Millisecond), 0},
		"whole seconds":    {t0.Add(3500 * time.Millisecond), 3 * time.Second},
		"a day":            {t0.Add(24 * time.Hour), 24 * time.Hour},
		"beyond the limit": {t0.Add(30 * 24 * time.Hour), 28 * 24 * time.Hour},
	} {
		m := decision()
		m.ExpiresAt = tt.expires
		message, err := fcm.Render(m, t0)
		if err != nil || message.Android.TTL == nil || *message.Android.TTL != tt.want {
			t.Errorf("%s: %v %v, want %v", name, message.Android.TTL, err, tt.want)
		}
	}
}

// High priority that shows nothing is taken away from the app.
func TestRender_OnlyAlertsHaveHighPriority(t *testing.T) {
	t.Parallel()
	for kind, want := range map[push.Kind]string{
		push.DecisionRequired: "high", push.ResultReady: "high", push.Test: "high", push.Withdraw: "normal", push.BadgeOnly: "normal", "something_silent": "normal",
	} {
		m := decision()
		m.Payload.Kind = kind
		message, err := fcm.Render(m, t0)
		if err != nil || message.Android.Priority != want {
			t.Errorf("%s: %s %v", kind, message.Android.Priority, err)
		}
	}
}

func TestRender_TheLimitCountsKeysAndValues(t *testing.T) {
	t.Parallel()
	m := decision()
	message, err := fcm.Render(m, t0)
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for key, value := range message.Data {
		size += len(key) + len(value)
	}
	m.Text.Body += strings.Repeat("&", fcm.MaxData-size)
	if _, err := fcm.Render(m, t0); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	m.Text.Body += "&"
	if _, err := fcm.Render(m, t0); !errors.Is(err, fcm.ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
}

// What is written by hand has to be what clients decode with generated code.
// protojson refuses unknown fields and wrong forms.
func TestRender_DecodesStrictlyAsTheGeneratedPayload(t *testing.T) {
	t.Parallel()
	message, err := fcm.Render(decision(), t0)
	if err != nil {
		t.Fatal(err)
	}
	var got beckonv1.PushPayload
	if err := protojson.Unmarshal([]byte(message.Data[fcm.KeyBeckon]), &got); err != nil {
		t.Fatal(err)
	}
	want := &beckonv1.PushPayload{
		V: 1, Kind: beckonv1.PushKind_PUSH_KIND_DECISION_REQUIRED, Account: "tag",
		Thread: "thr_r_1", Task: "tsk_r_1", Decision: "dec_r_1", Revision: 2,
		AskedDigest: "00ff", AsOf: "c3RhbXA",
		Badge:      &beckonv1.PushBadge{Count: 3, Epoch: "ZQ", Version: 7},
		ExpireTime: timestamppb.New(t0),
		Actions: []*beckonv1.PushAction{
			{Verb: "approve", Token: "a.b.c"}, {Verb: "deny", Token: "d.e.f"},
		},
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValidToken(t *testing.T) {
	t.Parallel()
	token := decision().Address.Token
	for _, tt := range []struct {
		kind  push.AddressKind
		token string
		want  bool
	}{
		{push.KindFCMToken, token, true},
		{push.KindFCMToken, strings.Repeat("a", 32), true},
		{push.KindFCMToken, strings.Repeat("a", 512), true},
		{push.KindFCMToken, strings.Repeat("a", 31), false},
		{push.KindFCMToken, strings.Repeat("a", 513), false},
		{push.KindFCMToken, token + " ", false},
		{push.KindFCMToken, token + "\n", false},
		{push.KindFCMToken, token + "é", false},
		{push.KindFCMToken, "", false},
		{push.KindFCMFID, "dQw4w9WgXcQ_-abcdefghi", true},
		{push.KindFCMFID, "aQw4w9WgXcQ_-abcdefghi", false},
		{push.KindFCMFID, "dQw4w9WgXcQ_-abcdefgh", false},
		{push.KindFCMFID, "dQw4w9WgXcQ_-abcdefghij", false},
		{push.KindFCMFID, token, false},
		{push.KindAPNs, strings.Repeat("a1", 32), false},
		{"", token, false},
	} {
		if got := fcm.ValidToken(tt.kind, tt.token); got != tt.want {
			t.Errorf("%s %q: %v", tt.kind, tt.token, got)
		}
	}
}
