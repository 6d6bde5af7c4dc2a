package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/httpapi"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// behind is what lies behind the doors.
type behind struct {
	got    app.AnswerDecision
	caller policy.Principal
	result app.AnswerResult
	err    error
	ready  error
	slow   error
}

func (b *behind) AnswerDecision(_ context.Context, p policy.Principal, c app.AnswerDecision) (app.AnswerResult, error) {
	b.caller, b.got = p, c
	return b.result, b.err
}

func (*behind) Tap(token string) (policy.Principal, app.Tap, error) {
	if token != "good" {
		return policy.Principal{}, app.Tap{}, app.ErrBadToken
	}
	return policy.Principal{Kind: policy.Installation, Installation: "ins"}, app.Tap{Decision: "dec", Verb: decision.Deny, Revision: 2}, nil
}

func describe(err error) (code, reason string, after time.Duration) {
	switch {
	case errors.Is(err, app.ErrBadToken):
		return "unauthenticated", "BAD_TOKEN", 0
	case errors.Is(err, store.ErrNotFound):
		return "not_found", "NOT_FOUND", 0
	}
	if _, ok := errors.AsType[*app.RateError](err); ok {
		return "resource_exhausted", "RATE", 1500 * time.Millisecond
	}
	if e, ok := errors.AsType[*app.FieldError](err); ok {
		return "invalid_argument", e.Reason, 0
	}
	return "internal", "INTERNAL", 0
}

func (b *behind) serve(t *testing.T, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	httpapi.Mount(mux, httpapi.Config{
		Answer: b, Taps: b, Describe: describe, Metrics: prometheus.NewRegistry(),
		Ready: func(context.Context) error { return b.ready }, Slow: func(string) error { return b.slow },
	})
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, request)
	return answer
}

func TestHealth(t *testing.T) {
	t.Parallel()
	b := &behind{}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/": 404} {
		if got := b.serve(t, http.MethodGet, path, ""); got.Code != want {
			t.Errorf("%s = %d", path, got.Code)
		}
	}
	b.ready = errors.New("the disk with path /secret is gone")
	got := b.serve(t, http.MethodGet, "/readyz", "")
	if got.Code != http.StatusServiceUnavailable || strings.Contains(got.Body.String(), "secret") {
		t.Errorf("not ready = %d %s", got.Code, got.Body)
	}
	if got := b.serve(t, http.MethodGet, "/healthz", ""); got.Code != 200 {
		t.Error("a server that is not ready is not alive")
	}
}

// TestClaimInABrowser: whoever opens the link is told what to do with it.
func TestClaimInABrowser(t *testing.T) {
	t.Parallel()
	b := &behind{}
	got := b.serve(t, http.MethodGet, "/claim", "")
	if got.Code != 200 || got.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
		!strings.Contains(got.Body.String(), "beckon claim '<this address>'") || !strings.Contains(got.Body.String(), "with the whole link") {
		t.Errorf("GET met %d %v %s", got.Code, got.Header(), got.Body)
	}
	if got := b.serve(t, http.MethodPost, "/claim", ""); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST met %d", got.Code)
	}
}

func TestATapIsOneAnswer(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	b := &behind{result: app.AnswerResult{
		Outcome: decision.Conflict, Winner: &store.Winner{Installation: "other", Label: "Tablet", Time: at},
	}}
	view := strings.Repeat("ab", 32)
	got := b.serve(t, http.MethodPost, "/act", `{"token":"good","answer_key":"k","view":"`+view+`","proof":"AQI="}`)
	want := map[string]any{
		"outcome": "CONFLICT",
		"winner":  map[string]any{"installation_id": "other", "installation_label": "Tablet", "answer_time": "2026-03-04T05:06:07Z"},
	}
	var body map[string]any
	if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != 200 {
		t.Fatal(got.Code, got.Body, err)
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	seen := decision.Digest{}
	for i := range seen {
		seen[i] = 0xab
	}
	asked := app.AnswerDecision{
		Decision: "dec", View: seen, Key: "k", Proof: []byte{1, 2}, Surface: decision.SurfaceNotification,
		Tap: &app.Tap{Decision: "dec", Verb: decision.Deny, Revision: 2},
	}
	if diff := cmp.Diff(asked, b.got); diff != "" {
		t.Error("the verb was asked (-want +got):\n", diff)
	}
	if b.caller.Installation != "ins" {
		t.Error("as", b.caller)
	}
}

func TestStepUp(t *testing.T) {
	t.Parallel()
	b := &behind{result: app.AnswerResult{Outcome: decision.NeedsStepUp, Needed: decision.StepUnlocked}}
	got := b.serve(t, http.MethodPost, "/act", `{"token":"good","answer_key":"k"}`)
	if got.Code != 200 || strings.TrimSpace(got.Body.String()) != `{"outcome":"NEEDS_STEP_UP","needed_step":3}` {
		t.Error(got.Code, got.Body)
	}
}

func TestRefusedTaps(t *testing.T) {
	t.Parallel()
	const good = `{"token":"good","answer_key":"k"}`
	for name, c := range map[string]struct {
		behind *behind
		body   string
		status int
		reason string
	}{
		"bad token":   {&behind{}, `{"token":"bad","answer_key":"k"}`, 401, "BAD_TOKEN"},
		"too fast":    {&behind{slow: &app.RateError{RetryAfter: time.Second}}, good, 429, "RATE"},
		"gone":        {&behind{err: store.ErrNotFound}, good, 404, "NOT_FOUND"},
		"new trouble": {&behind{err: errors.New("row 17 of account 5")}, good, 500, "INTERNAL"},
		"no JSON":     {&behind{}, `token=good`, 400, "MALFORMED"},
		"two values":  {&behind{}, good + good, 400, "MALFORMED"},
		"a list":      {&behind{}, `[]`, 400, "MALFORMED"},
		"no base64":   {&behind{}, `{"token":"good","answer_key":"k","proof":"?"}`, 400, "MALFORMED"},
		"half a view": {&behind{}, `{"token":"good","answer_key":"k","view":"abab"}`, 400, "MALFORMED"},
		"no token":    {&behind{}, `{"answer_key":"k"}`, 400, "MISSING"},
	} {
		got := c.behind.serve(t, http.MethodPost, "/act", c.body)
		var body struct{ Error struct{ Code, Reason string } }
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil {
			t.Errorf("%s: %v in %s", name, err, got.Body)
		}
		if got.Code != c.status || body.Error.Reason != c.reason || strings.Contains(got.Body.String(), "17") {
			t.Errorf("%s met %d %s", name, got.Code, got.Body)
		}
		if (c.reason == "RATE") != (got.Header().Get("Retry-After") == "2") {
			t.Errorf("%s: Retry-After %q", name, got.Header().Get("Retry-After"))
		}
		if c.behind.got.Tap != nil && c.behind.err == nil {
			t.Errorf("%s reached the verb", name)
		}
	}
}

func FuzzAct(f *testing.F) {
	for _, seed := range []string{`{"token":"good","answer_key":"k"}`, `{"token":"bad"}`, `{}`, `[`, `{"view":"zz"}`, "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b := &behind{err: store.ErrNotFound}
		got := b.serve(t, http.MethodPost, "/act", body)
		if got.Code < 400 || got.Code >= 500 || !json.Valid(got.Body.Bytes()) {
			t.Errorf("%q met %d %s", body, got.Code, got.Body)
		}
	})
}

// Whoever checks permits reads the keys without a credential.
func TestPermitKeys_ArePublic(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	httpapi.Mount(mux, httpapi.Config{PermitKeys: []byte(`{"keys":[]}`), Metrics: prometheus.NewRegistry()})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/.well-known/beckon-permit-keys.json", nil))
	if w.Code != http.StatusOK || w.Body.String() != `{"keys":[]}` || w.Header().Get("Content-Type") != "application/jwk-set+json" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	w = httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/.well-known/beckon-permit-keys.json", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}
