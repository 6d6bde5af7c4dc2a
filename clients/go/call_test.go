package beckon_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func TestEveryWayToTheServer(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"h1", "h2c", "tls"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			p, _ := f.claim(t, f.serve(t, protocol))
			res := must(p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{}))(t)
			if res.GetAccountId() != "acc" {
				t.Errorf("got %v", res)
			}
		})
	}
}

func TestErrorCarriesEverything(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h2c"))
	_, err := p.Account.UpdateSettings(t.Context(), &v1.UpdateSettingsRequest{})
	e, ok := errors.AsType[*beckon.Error](err)
	if !ok {
		t.Fatalf("not an Error: %v", err)
	}
	want := &beckon.Error{
		Code: connect.CodeInvalidArgument, Reason: "LIMIT", Field: "content_level", Max: 3,
		RetryAfter: 2 * time.Second, Text: "words for people",
	}
	if diff := cmp.Diff(want, e, cmpopts.IgnoreUnexported(beckon.Error{})); diff != "" {
		t.Error(diff)
	}
	if got := e.Error(); got != "beckon: words for people (LIMIT: content_level, at most 3)" {
		t.Error(got)
	}
	if connect.CodeOf(err) != connect.CodeInvalidArgument || beckon.ReasonOf(err) != "LIMIT" {
		t.Errorf("the chain is broken: %v", err)
	}
}

// Unavailable and lost answers are asked again; a verdict is not.
func TestRetry(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h2c"))
	count := func(name string) int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(slices.DeleteFunc(slices.Clone(f.calls), func(c string) bool { return c != name }))
	}
	set := func(lose, refuse int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.calls, f.lose, f.refuse = nil, lose, refuse
	}
	for _, test := range []struct {
		name         string
		lose, refuse int
		sent         int
		reason       string
	}{
		{"good", 0, 0, 1, ""},
		{"going away", 0, 2, 3, ""},
		{"lost answers", 2, 0, 3, ""},
		{"gone", 0, 100, 4, "UNAVAILABLE"},
		{"never an answer", 100, 0, 4, beckon.ReasonUnreachable},
	} {
		set(test.lose, test.refuse)
		_, err := p.Account.GetAccount(t.Context(), &v1.GetAccountRequest{})
		if got := count("GetAccount"); got != test.sent || beckon.ReasonOf(err) != test.reason {
			t.Errorf("%s: sent %d times, ended with %v", test.name, got, err)
		}
	}
	set(0, 0)
	if _, err := p.Account.UpdateSettings(t.Context(), &v1.UpdateSettingsRequest{}); err == nil || count("UpdateSettings") != 1 {
		t.Errorf("a verdict was sent %d times", count("UpdateSettings"))
	}
	// A call whose repeat is another act is left alone once it may have arrived.
	set(1, 0)
	if _, err := p.Agents.IssueKey(t.Context(), &v1.IssueKeyRequest{}); err == nil || count("IssueKey") != 1 {
		t.Errorf("a key was asked for %d times: %v", count("IssueKey"), err)
	}
}

// A repeat is the same request, key and all.
func TestRepeatsKeepTheirKeys(t *testing.T) {
	t.Parallel()
	f := newFake()
	opts := f.serve(t, "h1")
	agent := must(beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_x"}, opts))(t)
	t.Cleanup(agent.Close)
	f.with(func() { f.lose = 2 })
	w := must(agent.Start(t.Context(), &v1.CreateTaskRequest{Title: "Work"}))(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.create) != 3 || w.ID() != "tsk" || w.Lease != "lease" {
		t.Fatalf("%d requests, work %v", len(f.create), w)
	}
	first := f.create[0]
	if first.GetIdempotencyKey() == "" || len(first.GetClaim().GetClaimId()) < 8 {
		t.Errorf("keys are missing: %v", first)
	}
	for _, again := range f.create[1:] {
		if again.String() != first.String() {
			t.Errorf("a repeat differs:\n%v\n%v", first, again)
		}
	}
}

func TestCanceledCall(t *testing.T) {
	t.Parallel()
	f := newFake()
	p, _ := f.claim(t, f.serve(t, "h2c"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Account.GetAccount(ctx, &v1.GetAccountRequest{})
	e, ok := errors.AsType[*beckon.Error](err)
	if !ok || e.Code != connect.CodeCanceled || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	_ = l.Close()
	api := must(beckon.Anonymous(beckon.Options{Server: "http://" + address, Retry: beckon.Retry{Base: time.Millisecond}}))(t)
	defer api.Close()
	_, err := api.Pairing.ClaimServer(t.Context(), &v1.ClaimServerRequest{})
	if beckon.ReasonOf(err) != beckon.ReasonUnreachable {
		t.Errorf("got %v", err)
	}
}

// A credential is for one server; no answer can send it to another.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	agent := must(beckon.NewAgent(beckon.KeyFile{Key: "bk_agt_x"}, beckon.Options{Server: s.URL}))(t)
	defer agent.Close()
	if _, err := agent.Tasks.GetTask(t.Context(), &v1.GetTaskRequest{}); err == nil {
		t.Error("a redirect is no answer")
	}
}

func TestNormalizeServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in, want string
		err      error
	}{
		{"https://beckon.example/", "https://beckon.example", nil},
		{"https://h/base/", "https://h/base", nil},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080", nil},
		{"http://[::1]:1", "http://[::1]:1", nil},
		{"http://localhost", "http://localhost", nil},
		{"http://beckon.example", "", beckon.ErrInsecure},
		{"http://localhost.example", "", beckon.ErrInsecure},
		{"beckon.example", "", beckon.ErrServer},
		{"127.0.0.1:8420", "", beckon.ErrServer},
		{"localhost:8420", "", beckon.ErrServer},
		{"ftp://h", "", beckon.ErrServer},
		{"https://u:p@h", "", beckon.ErrServer},
		{"https://h?x=1", "", beckon.ErrServer},
		{"", "", beckon.ErrServer},
	} {
		got, err := beckon.NormalizeServer(test.in)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q: got %q, %v", test.in, got, err)
		}
	}
}

// Who leaves the scheme out is told the one that fits; a password stays unsaid.
func TestNormalizeServer_Hint(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"127.0.0.1:8420":     "http://127.0.0.1:8420 ?",
		"localhost:8420":     "http://localhost:8420 ?",
		"beckon.example/x":   "https://beckon.example ?",
		"u:secret@127.0.0.1": "address of a server",
	} {
		_, err := beckon.NormalizeServer(in)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// The step of a STEP_UP is a number for programs, and no bound.
func TestError_StepUp(t *testing.T) {
	t.Parallel()
	err := &beckon.Error{Reason: beckon.ReasonStepUp, Text: "max is the step", Max: 5}
	if got := err.Error(); got != "beckon: the person has to be present for this (STEP_UP)" {
		t.Error(got)
	}
}

func TestParseClaimLink(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in, server, secret string
		err                error
	}{
		{"https://h/claim#bk_own_1", "https://h", "bk_own_1", nil},
		{" http://127.0.0.1:1/base/claim/#s\n", "http://127.0.0.1:1/base", "s", nil},
		{"https://h/claim", "", "", beckon.ErrLink},
		{"https://h/claim#", "", "", beckon.ErrLink},
		{"https://h/#s", "", "", beckon.ErrLink},
		{"http://h/claim#s", "", "s", beckon.ErrInsecure},
	} {
		server, secret, err := beckon.ParseClaimLink(test.in)
		if server != test.server || !errors.Is(err, test.err) || err == nil && secret != test.secret {
			t.Errorf("%q: got %q, %q, %v", test.in, server, secret, err)
		}
	}
}

func FuzzParseClaimLink(f *testing.F) {
	for _, seed := range []string{"https://h/claim#bk_own_1", "#", "http://[::1]/claim#x", "https://h/claim/#a#b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, link string) {
		server, secret, err := beckon.ParseClaimLink(link)
		if err != nil {
			return
		}
		if again, err := beckon.NormalizeServer(server); err != nil || again != server || secret == "" {
			t.Fatalf("%q gives %q, %q", link, server, secret)
		}
	})
}

func TestFilesWithSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name, text string
		mode       os.FileMode
		want       error
	}{
		{"plain", "bk_agt_abc\n", 0o600, nil},
		{"json", `{"server":"https://h","key":"bk_agt_abc"}`, 0o400, nil},
		{"readable", "bk_agt_abc", 0o644, beckon.ErrReadable},
		{"group", "bk_agt_abc", 0o640, beckon.ErrReadable},
		{"other kind", "bk_tsk_abc", 0o600, beckon.ErrKeyFile},
		{"cut json", `{"key":"bk_agt_sec`, 0o600, beckon.ErrKeyFile},
		{"two", "bk_agt_a bk_agt_b", 0o600, beckon.ErrKeyFile},
		{"empty", "", 0o600, beckon.ErrKeyFile},
	} {
		k, err := beckon.ReadKeyFile(write(test.name, test.text, test.mode))
		if !errors.Is(err, test.want) || err == nil && k.Key != "bk_agt_abc" {
			t.Errorf("%s: %+v, %v", test.name, k, err)
		}
		if err != nil && strings.Contains(err.Error(), "sec") && !strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error holds a part of the key: %v", test.name, err)
		}
	}
	if _, err := beckon.ReadKeyFile(filepath.Join(dir, "absent")); !errors.Is(err, beckon.ErrNoAgent) {
		t.Errorf("absent: %v", err)
	}
	if _, err := beckon.ReadTaskFile(write("task", `{"token":"bk_tsk_1"}`, 0o600)); !errors.Is(err, beckon.ErrTaskFile) {
		t.Errorf("task: %v", err)
	}
	path := filepath.Join(dir, "new", "agent.json")
	if err := beckon.WriteKeyFile(path, beckon.KeyFile{Key: "bk_agt_abc"}); err != nil {
		t.Fatal(err)
	}
	if info := must(os.Stat(path))(t); info.Mode().Perm() != 0o600 {
		t.Errorf("written with %v", info.Mode())
	}
	if err := beckon.WriteKeyFile(path, beckon.KeyFile{Key: "bk_agt_other"}); !errors.Is(err, os.ErrExist) {
		t.Errorf("overwritten: %v", err)
	}
}
