package fcm_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/provider/fcm"
	"github.com/beckon-dev/beckon/push/verdicttest"
)

// refusal is one answer of FCM, the row of the table it falls under, and how FCM
// is brought to give it. Where the provider cannot be made to deserve it, the
// stand-in is told to.
type refusal struct {
	name   string
	row    string
	class  push.Class
	reason string
	least  time.Duration
	config func(*fcm.Config)
	world  func(*testing.T, *strict)
	change func(*push.Message)
	fault  *emulator.Fault
	// sends is how many requests one attempt makes; 0 means one.
	sends int
}

func refusals() []refusal {
	const start, minute = 10 * time.Second, time.Minute
	other := func(c *fcm.Config) { c.ProjectID = "another-project" }
	foreign := "cdefghijklmnopqrstuvwy:APA91b" + strings.Repeat("B", 134)
	return []refusal{
		{name: "deleted app", row: "404 UNREGISTERED", class: push.Dead, reason: "UNREGISTERED", world: func(_ *testing.T, s *strict) { s.google.Unregister(decision().Address.Token) }},
		{name: "wrong project", row: "404", class: push.Cred, reason: "NOT_FOUND", config: other},
		{name: "unregistered as a bad request", row: "400 UNREGISTERED", class: push.Suspect, reason: "UNREGISTERED", fault: &emulator.Fault{Status: 400, Code: emulator.Unregistered}},
		{name: "no token", row: "400 INVALID_ARGUMENT about the address alone", class: push.Suspect, reason: "INVALID_ARGUMENT", change: func(m *push.Message) { m.Address.Token = strings.Repeat("!", 40) }},
		{name: "bad field", row: "400", class: push.Bug, reason: "INVALID_ARGUMENT", fault: &emulator.Fault{Code: emulator.InvalidArgument, Field: "message.data"}},
		{name: "bad request", row: "400", class: push.Bug, reason: "INVALID_ARGUMENT", fault: &emulator.Fault{Status: 400}},
		{name: "Apple's key inside Firebase", row: "401 THIRD_PARTY_AUTH_ERROR", class: push.Cred, reason: "THIRD_PARTY_AUTH_ERROR", fault: &emulator.Fault{Code: emulator.ThirdPartyAuthError}},
		{name: "the same by its older name", row: "401 THIRD_PARTY_AUTH_ERROR", class: push.Cred, reason: "APNS_AUTH_ERROR", fault: &emulator.Fault{Status: 401, Code: "APNS_AUTH_ERROR"}},
		{name: "our access token", row: "401", class: push.Cred, reason: "UNAUTHENTICATED", fault: &emulator.Fault{Status: 401}, sends: 2},
		{name: "another sender", row: "403 SENDER_ID_MISMATCH", class: push.Suspect, reason: "SENDER_ID_MISMATCH", world: func(t *testing.T, s *strict) {
			t.Helper()
			s.google.AddProject("another-project")
			if err := s.google.AddDevice(emulator.Registration{App: "dev.beckon.app", Token: foreign, Project: "another-project"}); err != nil {
				t.Fatal(err)
			}
		}, change: func(m *push.Message) { m.Address.Token = foreign }},
		{name: "not our project", row: "403", class: push.Cred, reason: "PERMISSION_DENIED", config: other, world: func(_ *testing.T, s *strict) { s.google.AddProject("another-project") }},
		{name: "device quota", row: "429 of one device", class: push.SlowDevice, reason: "QUOTA_EXCEEDED", fault: &emulator.Fault{Code: emulator.QuotaExceeded, Quota: emulator.DeviceQuota}},
		{name: "device quota, come again", row: "429 of one device", class: push.SlowDevice, reason: "QUOTA_EXCEEDED", least: 45 * time.Second, fault: &emulator.Fault{Code: emulator.QuotaExceeded, Quota: emulator.DeviceQuota, RetryAfter: "45"}},
		{name: "quota", row: "429", class: push.SlowAll, reason: "QUOTA_EXCEEDED", least: minute, fault: &emulator.Fault{Code: emulator.QuotaExceeded, Quota: emulator.ProjectQuota}},
		{name: "quota, come again soon", row: "429", class: push.SlowAll, reason: "QUOTA_EXCEEDED", least: minute, fault: &emulator.Fault{Code: emulator.QuotaExceeded, RetryAfter: "5"}},
		{name: "quota, come again in ten minutes", row: "429", class: push.SlowAll, reason: "QUOTA_EXCEEDED", least: 10 * minute, fault: &emulator.Fault{Code: emulator.QuotaExceeded, RetryAfter: "600"}},
		{name: "rate limit without a word", row: "429", class: push.SlowAll, reason: "RESOURCE_EXHAUSTED", least: minute, fault: &emulator.Fault{Status: 429}},
		{name: "internal", row: "408, 5xx, redirect", class: push.Backoff, reason: "INTERNAL", least: start, fault: &emulator.Fault{Code: emulator.Internal}},
		{name: "unspecified", row: "408, 5xx, redirect", class: push.Backoff, reason: "UNSPECIFIED_ERROR", least: start, fault: &emulator.Fault{Code: emulator.UnspecifiedError}},
		{name: "unavailable", row: "408, 5xx, redirect", class: push.Backoff, reason: "UNAVAILABLE", least: start, fault: &emulator.Fault{Code: emulator.Unavailable}},
		{name: "unavailable, come again soon", row: "408, 5xx, redirect", class: push.Backoff, reason: "UNAVAILABLE", least: start, fault: &emulator.Fault{Code: emulator.Unavailable, RetryAfter: "3"}},
		{name: "unavailable, come again at", row: "408, 5xx, redirect", class: push.Backoff, reason: "UNAVAILABLE", least: minute, fault: &emulator.Fault{Code: emulator.Unavailable, RetryAfter: t0.Add(minute).Format(http.TimeFormat)}},
		{name: "a proxy on the way", row: "408, 5xx, redirect", class: push.Backoff, reason: "http_502", least: start, fault: &emulator.Fault{Status: 502, Body: []byte("<html>")}},
		{name: "timeout", row: "408, 5xx, redirect", class: push.Backoff, reason: "INTERNAL", least: start, fault: &emulator.Fault{Status: 408}},
		{name: "redirect", row: "408, 5xx, redirect", class: push.Backoff, reason: "http_302", least: start, fault: &emulator.Fault{Status: 302, Body: []byte("moved")}},
		{name: "too large", row: "other 4xx", class: push.Bug, reason: "http_413", fault: &emulator.Fault{Status: 413, Body: []byte("<html>")}},
	}
}

// Every row of the table, met at the strict stand-in: class, FCM's word, the
// least wait, and what becomes of row, address and lane.
func TestVerdicts_EveryAnswerOfGoogle(t *testing.T) {
	t.Parallel()
	documented := verdicttest.Documented(t, "../../doc.go")
	for _, r := range refusals() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			s, m := before(t, func(c *fcm.Config) {
				if r.config != nil {
					r.config(c)
				}
			}), decision()
			if r.world != nil {
				r.world(t, s)
			}
			if r.change != nil {
				r.change(&m)
			}
			if r.fault != nil {
				f := *r.fault
				if _, err := http.ParseTime(f.RetryAfter); err == nil {
					f.RetryAfter = time.Now().Add(r.least + time.Second).UTC().Format(http.TimeFormat)
				}
				s.script(t, emulator.Match{Times: -1}, f)
			}
			v := s.push(t, m)
			// A date has whole seconds and is read by the clock of the machine.
			if r.fault != nil && len(r.fault.RetryAfter) > len("600") && (v.RetryAfter-r.least).Abs() < 10*time.Second {
				v.RetryAfter = r.least
			}
			if diff := cmp.Diff(push.Verdict{Class: r.class, Reason: r.reason, RetryAfter: r.least}, v); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			seen := s.google.Requests()
			if want := max(r.sends, 1); len(seen) != want || seen[0].Stored || seen[0].Scripted != (r.fault != nil) {
				t.Errorf("the stand-in answered %+v", seen)
			}
			verdicttest.Check(t, r.name, documented, v, m.Address)
		})
	}
	s := before(t)
	verdicttest.Check(t, "200", documented, s.push(t, decision()), decision().Address)
}

// The row of the table for everybody: nobody there, no answer.
func TestVerdicts_NoAnswerFromGoogle(t *testing.T) {
	t.Parallel()
	documented := verdicttest.Documented(t, "../../doc.go")
	nobody := before(t, func(c *fcm.Config) { c.Endpoint = "https://127.0.0.1:1/v1" })
	v := nobody.push(t, decision())
	want(t, v, push.Backoff, "not_sent")
	verdicttest.Check(t, "nobody there", documented, v, decision().Address)
	for _, answer := range []emulator.Answer{emulator.Reset, emulator.Closed} {
		s := before(t)
		s.script(t, emulator.Match{}, emulator.Fault{Answer: answer})
		v := s.push(t, decision())
		want(t, v, push.Ambiguous, "no_answer")
		verdicttest.Check(t, string(answer), documented, v, decision().Address)
	}
}

// The table in the documentation, the one the provider goes by and the rows that
// are tested are one list, and every code the stand-in knows from Google is met.
func TestVerdicts_TheTablesAgree(t *testing.T) {
	t.Parallel()
	rules := fcm.Rules()
	if diff := cmp.Diff(rules, verdicttest.Table(t, "doc.go", "class")); diff != "" {
		t.Errorf("(-provider +documentation):\n%s", diff)
	}
	met, codes := [][]string{{"ok", "2xx"}}, map[string]bool{}
	for _, r := range refusals() {
		row := []string{string(r.class), r.row}
		if !slices.ContainsFunc(rules, func(known []string) bool { return slices.Equal(known, row) }) {
			t.Errorf("%s: the provider has no row %q", r.name, row)
		}
		met, codes[r.reason] = append(met, row), true
	}
	for _, row := range rules {
		if !slices.ContainsFunc(met, func(m []string) bool { return slices.Equal(m, row) }) {
			t.Errorf("nothing meets the row %q", row)
		}
	}
	for _, code := range standInCodes(t) {
		if !codes[code] {
			t.Errorf("Google says %s, and nothing meets it", code)
		}
	}
}

// standInCodes reads the stand-in's list of codes from its source.
func standInCodes(t *testing.T) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../emulator/fcm/failure.go", nil, 0)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "ErrorCode" {
			return true
		}
		for _, v := range spec.Values {
			if lit, ok := v.(*ast.BasicLit); ok {
				code, bad := strconv.Unquote(lit.Value)
				codes, err = append(codes, code), errors.Join(err, bad)
			}
		}
		return true
	})
	if err != nil || len(codes) < 8 {
		t.Fatalf("%d codes: %v", len(codes), err)
	}
	return codes
}
