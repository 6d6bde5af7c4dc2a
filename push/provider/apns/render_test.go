package apns_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/apns"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func decision() push.Message {
	return push.Message{
		Delivery: "dlv_r_1",
		Address: push.Address{
			ID: "adr_r_1", Kind: push.KindAPNs, Env: push.EnvSandbox, Topic: "dev.beckon.app",
			Token: strings.Repeat("a1", 32), AccountTag: "tag", Level: push.LevelFull,
		},
		ProviderID: push.ProviderID("dlv_r_1"),
		CollapseID: push.CollapseID("dec_r_1"),
		ExpiresAt:  t0,
		Text:       push.Text{Title: "mailer needs a decision", Body: "Send <b>mail</b> & \"more\"?\nTo: 214 👩‍👩‍👧 日本"},
		Payload: push.Payload{
			Kind: push.DecisionRequired, Account: "tag",
			Subject: push.Subject{Thread: "thr_r_1", Task: "tsk_r_1", Decision: "dec_r_1", Version: 2},
			Asked:   "00ff", AsOf: "c3RhbXA", Badge: push.Badge{Count: 3, Epoch: "ZQ", Version: 7}, ExpiresAt: t0,
			Actions: []push.Action{{Verb: push.Approve, Token: "a.b.c"}, {Verb: push.Deny, Token: "d.e.f"}},
		},
	}
}

func TestRender_Golden(t *testing.T) {
	t.Parallel()
	deny := decision()
	deny.Payload.Actions = deny.Payload.Actions[1:]
	bare := decision()
	bare.Payload.Actions, bare.Text = nil, push.Text{Title: "A task needs your decision"}
	result := decision()
	result.Text = push.Text{Title: "mailer finished", Body: "exit status 0"}
	result.Payload = push.Payload{
		Kind: push.ResultReady, Account: "tag", Subject: push.Subject{Thread: "thr_r_1", Task: "tsk_r_1", Version: 1},
		AsOf: "c3RhbXA", Badge: push.Badge{Count: 0, Epoch: "ZQ", Version: 8},
	}
	withdraw := back(decision(), "Handled on another device", 2)
	test := result
	test.Text, test.Payload.Kind, test.Payload.Subject = push.Text{Title: "Beckon can reach this device"}, push.Test, push.Subject{}
	for name, m := range map[string]push.Message{
		"withdraw": withdraw, "test": test,
		"decision_approve": decision(), "decision_deny": deny, "decision_bare": bare, "result_no_badge": result,
	} {
		got, err := apns.Render(m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
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

func TestRender_BadgeZeroIsNeverSent(t *testing.T) {
	t.Parallel()
	m := decision()
	m.Payload.Badge.Count = 0
	got, err := apns.Render(m)
	if err != nil || bytes.Contains(got, []byte(`"badge":0`)) {
		t.Errorf("%s %v", got, err)
	}
}

func TestRender_TheLimitCountsBytesOnTheWire(t *testing.T) {
	t.Parallel()
	m := decision()
	empty, err := apns.Render(m)
	if err != nil {
		t.Fatal(err)
	}
	room := apns.MaxPayload - len(empty)
	m.Text.Body += strings.Repeat("&", room)
	if got, err := apns.Render(m); err != nil || len(got) != apns.MaxPayload {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	m.Text.Body += "&"
	if _, err := apns.Render(m); !errors.Is(err, apns.ErrTooLarge) {
		t.Errorf("one more: %v", err)
	}
}

func TestValidToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]bool{
		strings.Repeat("a1", 32):           true,
		strings.Repeat("F0", 80):           true,
		strings.Repeat("a1", 16):           true,
		strings.Repeat("a1", 100):          true,
		strings.Repeat("a1", 15):           false,
		strings.Repeat("a1", 101):          false,
		strings.Repeat("a1", 32) + "b":     false,
		strings.Repeat("g1", 32):           false,
		"../.." + strings.Repeat("a1", 30): false,
		strings.Repeat("a1", 30) + "?x=1":  false,
		"":                                 false,
	} {
		if got := apns.ValidToken(token); got != want {
			t.Errorf("%q: %v", token, got)
		}
	}
}
