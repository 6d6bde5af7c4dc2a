package push_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
)

func TestPayload_EncodeIsTheDocumentedShape(t *testing.T) {
	t.Parallel()
	p := push.Payload{
		Kind:      push.DecisionRequired,
		Account:   "tag",
		Subject:   push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 3},
		Asked:     "aa",
		AsOf:      "c3RhbXA",
		Badge:     push.Badge{Count: 2, Epoch: "e1", Version: 1 << 60},
		ExpiresAt: time.Date(2026, 1, 2, 4, 4, 5, 678901999, time.FixedZone("x", 3600)),
		Actions:   []push.Action{{Verb: push.Approve, Token: "t<&>"}, {Verb: push.Deny, Token: "d"}},
	}
	want := `{"v":1,"kind":"PUSH_KIND_DECISION_REQUIRED","account":"tag","thread":"thr_1","task":"tsk_1",` +
		`"decision":"dec_1","revision":3,"askedDigest":"aa","asOf":"c3RhbXA",` +
		`"badge":{"count":2,"epoch":"e1","version":"1152921504606846976"},"expireTime":"2026-01-02T03:04:05.678901Z",` +
		`"actions":[{"verb":"approve","token":"t<&>"},{"verb":"deny","token":"d"}]}`
	if diff := cmp.Diff(want, string(p.Encode())); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
}

func TestPayload_EncodeLeavesOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	p := push.Payload{Kind: push.ResultReady, Subject: push.Subject{Task: "tsk_1", Version: 1}}
	want := `{"v":1,"kind":"PUSH_KIND_RESULT_READY","task":"tsk_1","badge":{}}`
	if diff := cmp.Diff(want, string(p.Encode())); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	p.ExpiresAt = time.Date(2026, 1, 2, 3, 4, 5, 999, time.UTC)
	if !strings.Contains(string(p.Encode()), `"expireTime":"2026-01-02T03:04:05Z"`) {
		t.Errorf("a whole second has no fraction: %s", p.Encode())
	}
}

func TestIDs_AreDerivedAndDoNotCollideByConcatenation(t *testing.T) {
	t.Parallel()
	a := push.IntentID("r", push.DecisionRequired, "dec_1", 1)
	if a != push.IntentID("r", push.DecisionRequired, "dec_1", 1) {
		t.Error("the same cause gave two ids")
	}
	if !regexp.MustCompile(`^int_r_[0-9a-v]{26}$`).MatchString(a) {
		t.Errorf("form of %q", a)
	}
	seen := map[string]string{}
	for name, id := range map[string]string{
		"base":     a,
		"version":  push.IntentID("r", push.DecisionRequired, "dec_1", 2),
		"subject":  push.IntentID("r", push.DecisionRequired, "dec_2", 1),
		"kind":     push.IntentID("r", push.ResultReady, "dec_1", 1),
		"row a|bc": push.DeliveryID("r", "a", "bc"),
		"row ab|c": push.DeliveryID("r", "ab", "c"),
	} {
		if other, dup := seen[id]; dup {
			t.Errorf("%s and %s share %s", name, other, id)
		}
		seen[id] = name
	}
}

func TestProviderID_IsAStableVersion5UUID(t *testing.T) {
	t.Parallel()
	id := push.ProviderID("dlv_r_1")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("not a lower-case version 5 UUID: %s", id)
	}
	if id != push.ProviderID("dlv_r_1") || id == push.ProviderID("dlv_r_2") {
		t.Error("provider ids must follow the row")
	}
}

func TestCollapseID_FitsEveryVendorAndHidesTheSubject(t *testing.T) {
	t.Parallel()
	id := push.CollapseID("dec_r_1")
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{32}$`).MatchString(id) {
		t.Errorf("form of %q", id)
	}
	if id == push.CollapseID("dec_r_2") {
		t.Error("two subjects share an identity")
	}
}

func TestSubject_KeyPrefersTheDecision(t *testing.T) {
	t.Parallel()
	if got := (push.Subject{Task: "t", Decision: "d"}).Key(); got != "d" {
		t.Errorf("key %q", got)
	}
	if got := (push.Subject{Task: "t"}).Key(); got != "t" {
		t.Errorf("key %q", got)
	}
}

func FuzzEncodeJSON_IsJSONWithoutHTMLEscapes(f *testing.F) {
	for _, s := range []string{"", "<&>", "a\"b\\", "\u2028", "\xff", "日本", "👩‍👩‍👧"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := push.EncodeJSON(s)
		var back string
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		if back != strings.ToValidUTF8(s, "\ufffd") && !strings.Contains(back, "\ufffd") {
			t.Errorf("%q came back as %q", s, back)
		}
		if strings.Count(s, "<") != strings.Count(string(b), "<") {
			t.Errorf("HTML escaping in %q", b)
		}
	})
}
