package fcm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

func TestSend_EverythingArrivesAsRendered(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/2.0": true, "HTTP/1.1": false} {
		b := setup(t, func(g *google, _ *fcm.Config) { g.EnableHTTP2 = http2 })
		v := b.push(t, decision())
		if diff := cmp.Diff(push.Verdict{Class: push.OK, ProviderID: "projects/demo-beckon/messages/0:1"}, v); diff != "" {
			t.Error(diff)
		}
		message, err := fcm.Render(decision(), t0)
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(map[string]any{"message": message})
		if err != nil {
			t.Fatal(err)
		}
		got := b.google.requests()
		want := seen{path: "/v1/projects/demo-beckon/messages:send", bearer: "Bearer t1", proto: name, body: body}
		if diff := cmp.Diff([]seen{want}, got, cmp.AllowUnexported(seen{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSend_TheTokenIsAskedForWithAnAssertion(t *testing.T) {
	t.Parallel()
	var grant, assertion string
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.token = func(n int, w http.ResponseWriter, r *http.Request) {
			grant, assertion = r.PostFormValue("grant_type"), r.PostFormValue("assertion")
			issue(n, w, r)
		}
	})
	want(t, b.push(t, decision()), push.OK, "")
	if grant != "urn:ietf:params:oauth:grant-type:jwt-bearer" || strings.Count(assertion, ".") != 2 {
		t.Errorf("%q %q", grant, assertion)
	}
	want(t, b.push(t, decision()), push.OK, "")
	if n := b.google.questions(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// B9, B31: FCM has answered 503 for what it delivered; the kit alone would send
// five times.
func TestSend_B31_UnavailableIsOneAttempt(t *testing.T) {
	t.Parallel()
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write(body("UNAVAILABLE", "x", fcmError("UNAVAILABLE")))
		}
	})
	v := b.push(t, decision())
	want(t, v, push.Backoff, "UNAVAILABLE")
	if v.RetryAfter != 77*time.Second {
		t.Errorf("retry after %v", v.RetryAfter)
	}
	if n := len(b.google.requests()); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func TestSend_ABrokenConnectionIsOneAttemptAndAmbiguous(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{true, false} {
		b := setup(t, func(g *google, _ *fcm.Config) {
			g.EnableHTTP2 = http2
			g.send = func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		})
		want(t, b.push(t, decision()), push.Ambiguous, "no_answer")
		if n := len(b.google.requests()); n != 1 {
			t.Errorf("%d attempts", n)
		}
	}
}

func TestSend_AnAcceptanceThatCannotBeReadIsOne(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter){
		"not JSON": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"endless": func(w http.ResponseWriter) {
			for range 1 << 10 {
				_, _ = io.WriteString(w, strings.Repeat(" ", 1<<10))
			}
		},
		"broken off": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"name":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		b := setup(t, func(g *google, _ *fcm.Config) {
			g.send = func(_ int, w http.ResponseWriter, _ *http.Request) { answer(w) }
		})
		if v := b.push(t, decision()); v.Class != push.OK || v.ProviderID != "" {
			t.Errorf("%s: %+v", name, v)
		}
		if n := len(b.google.requests()); n != 1 {
			t.Errorf("%s: %d attempts", name, n)
		}
	}
}

// A 404 whose body is missing must not be taken for a project that is missing.
func TestSend_ARefusalThatBreaksOffIsNoAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	want(t, b.push(t, decision()), push.Ambiguous, "no_answer")
}

// B31: no answer ends with the context of the attempt, and its verdict is kept.
func TestSend_SilenceEndsWithTheContext(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(int, http.ResponseWriter, *http.Request) { close(arrived); <-release }
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	want(t, b.provider.Send(ctx, decision()), push.Ambiguous, "no_answer")
}

func TestSend_NobodyThereIsBackoff(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := setup(t, func(_ *google, c *fcm.Config) { c.Endpoint = "https://" + l.Addr().String() + "/v1" })
	want(t, b.push(t, decision()), push.Backoff, "not_sent")
}

func TestSend_UnknownRootsAreBackoff(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	s.StartTLS()
	defer s.Close()
	p, err := fcm.New(t.Context(), fcm.Config{ServiceAccount: accountFile(t), Endpoint: s.URL + "/v1", TokenURI: s.URL + "/token"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want(t, p.Send(t.Context(), decision()), push.Backoff, "token_unreachable")
}

func TestSend_ARefusedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(body("UNAUTHENTICATED", "x"))
	}
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(n int, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer t1" {
				refuse(w)
				return
			}
			accept(n, w, r)
		}
	})
	want(t, b.push(t, decision()), push.OK, "")
	want(t, b.push(t, decision()), push.OK, "")
	if n, asked := len(b.google.requests()), b.google.questions(); n != 3 || asked != 2 {
		t.Errorf("%d attempts, %d tokens", n, asked)
	}

	always := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(_ int, w http.ResponseWriter, _ *http.Request) { refuse(w) }
	})
	want(t, always.push(t, decision()), push.Cred, "UNAUTHENTICATED")
	if n := len(always.google.requests()); n != 2 {
		t.Errorf("%d attempts", n)
	}
}

// A send that hears late that the old token is refused leaves the new one alone.
func TestSend_ALateRefusalDropsNoNewToken(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(n int, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer t1" {
				accept(n, w, r)
				return
			}
			if n == 1 {
				close(arrived)
				<-release
			}
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	var late sync.WaitGroup
	late.Go(func() { want(t, b.push(t, decision()), push.OK, "") })
	<-arrived
	want(t, b.push(t, decision()), push.OK, "")
	close(release)
	late.Wait()
	if n := b.google.questions(); n != 2 {
		t.Errorf("asked for %d tokens", n)
	}
}

func TestSend_ApplesKeyInsideFirebaseIsNotOurToken(t *testing.T) {
	t.Parallel()
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.send = func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write(body("UNAUTHENTICATED", "x", fcmError("THIRD_PARTY_AUTH_ERROR")))
		}
	})
	want(t, b.push(t, decision()), push.Cred, "THIRD_PARTY_AUTH_ERROR")
	if n := len(b.google.requests()); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

func TestSend_WhatTheIssuerAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		class  push.Class
		reason string
		least  time.Duration
	}{
		"refused":             {400, `{"error":"invalid_grant","error_description":"secret"}`, push.Cred, "token_invalid_grant", 0},
		"refused without why": {401, "no", push.Cred, "token_http_401", 0},
		"busy":                {503, "", push.Backoff, "token_http_503", 20 * time.Second},
		"too many":            {429, "", push.Backoff, "token_http_429", 20 * time.Second},
		"redirect":            {302, "", push.Backoff, "token_http_302", 20 * time.Second},
		"no token":            {200, "{}", push.Cred, "token_missing", 0},
		"nonsense":            {200, "<html>", push.Backoff, "token_unreachable", 0},
	} {
		b := setup(t, func(g *google, _ *fcm.Config) {
			g.token = func(_ int, w http.ResponseWriter, _ *http.Request) {
				if tt.least > 0 {
					w.Header().Set("Retry-After", "20")
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}
		})
		v := b.push(t, decision())
		if diff := cmp.Diff(push.Verdict{Class: tt.class, Reason: tt.reason, RetryAfter: tt.least, Unsent: tt.class == push.Backoff}, v); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(b.google.requests()); n != 0 {
			t.Errorf("%s: sent without a token", name)
		}
	}
}

// An issuer that is silent holds nobody longer than one bounded question, and
// each sender no longer than its own context.
func TestSend_ASilentIssuerHoldsNobody(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	b := setup(t, func(g *google, c *fcm.Config) {
		var once sync.Once
		g.token = func(int, http.ResponseWriter, *http.Request) { once.Do(func() { close(arrived) }); <-release }
		c.TokenTimeout = time.Second
	})
	defer close(release)
	var first sync.WaitGroup
	// Without a deadline of its own.
	first.Go(func() { want(t, b.provider.Send(t.Context(), decision()), push.Backoff, "token_unreachable") })
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	want(t, b.provider.Send(ctx, decision()), push.Backoff, "token_unreachable")
	var others sync.WaitGroup
	for range 50 {
		others.Go(func() {
			want(t, b.push(t, decision()), push.Backoff, "token_unreachable")
		})
	}
	first.Wait()
	others.Wait()
}

// B32: more at once than one connection admits.
func TestSend_ABurstIsDeliveredOnceOverFewConnections(t *testing.T) {
	t.Parallel()
	const burst = 1000
	b := setup(t, func(g *google, _ *fcm.Config) {
		g.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 100}
	})
	var wg sync.WaitGroup
	for range burst {
		wg.Go(func() {
			if v := b.push(t, decision()); v.Class != push.OK {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	if n := len(b.google.requests()); n != burst {
		t.Errorf("%d requests", n)
	}
	if n := b.google.questions(); n != 1 {
		t.Errorf("asked for %d tokens", n)
	}
	if n := b.google.conns.Load(); n > burst/10 {
		t.Errorf("%d connections", n)
	}
}

// B29: connections must not pile up.
func TestClose_EndsConnectionsAndASendOpensThemAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	want(t, b.push(t, decision()), push.OK, "")
	before := b.google.conns.Load()
	b.provider.Close()
	want(t, b.push(t, decision()), push.OK, "")
	if n := b.google.conns.Load(); n != before+1 {
		t.Errorf("%d connections after %d", n, before)
	}
}

func TestSend_AddressesThatAreNotFCMsGoNowhere(t *testing.T) {
	t.Parallel()
	b, m := setup(t, nil), decision()
	m.Address.Kind = push.KindAPNs
	want(t, b.push(t, m), push.Bug, "token_form")
	m = decision()
	m.Text.Body = strings.Repeat("x", fcm.MaxData)
	want(t, b.push(t, m), push.Bug, "payload_too_large")
	if n := len(b.google.requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	set := func(name, value string) []byte {
		return accountFile(t, func(f map[string]string) { f[name] = value })
	}
	if _, err := fcm.New(t.Context(), fcm.Config{ServiceAccount: accountFile(t)}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]fcm.Config{
		"no file":              {},
		"no JSON":              {ServiceAccount: []byte("hello")},
		"a person's":           {ServiceAccount: set("type", "authorized_user")},
		"no account":           {ServiceAccount: set("client_email", "")},
		"no key":               {ServiceAccount: set("private_key", "hello")},
		"not a key":            {ServiceAccount: set("private_key", "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n")},
		"no project":           {ServiceAccount: set("project_id", "")},
		"project with a path":  {ServiceAccount: accountFile(t), ProjectID: "a/../b"},
		"plain endpoint":       {ServiceAccount: accountFile(t), Endpoint: "http://localhost/v1"},
		"plain token endpoint": {ServiceAccount: accountFile(t), TokenURI: "http://localhost/token"},
		"plain in the file":    {ServiceAccount: set("token_uri", "http://localhost/token")},
	} {
		_, err := fcm.New(t.Context(), c)
		if !errors.Is(err, fcm.ErrConfig) || strings.Contains(fmt.Sprint(err), "hello") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
