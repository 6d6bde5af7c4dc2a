package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/policy"
)

// TestRefusals: what is wrong is told by code, reason and field, over every
// transport alike.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t) {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			refusals(t, me, me.agent(t, wire), wire)
		})
	}
}

func refusals(t *testing.T, me phone, agent api, wire connect.Transport) {
	t.Helper()
	ctx := t.Context()
	work := held(t, agent, "refusals")
	asked, err := agent.RequestDecision(ctx, question(work, "x"))
	check(t, err)
	for name, want := range map[string]struct {
		call   func() error
		code   connect.Code
		reason string
		field  string
		max    int64
	}{
		"unknown id": {func() error {
			_, err := me.GetTask(ctx, &v1.GetTaskRequest{TaskId: "tsk_nothing"})
			return err
		}, connect.CodeNotFound, "NOT_FOUND", "", 0},
		"no id": {func() error {
			_, err := me.GetTask(ctx, &v1.GetTaskRequest{})
			return err
		}, connect.CodeInvalidArgument, "MISSING", "task_id", 0},
		"title too long": {func() error {
			_, err := agent.CreateTask(ctx, &v1.CreateTaskRequest{IdempotencyKey: "k", Title: strings.Repeat("x", 121)})
			return err
		}, connect.CodeInvalidArgument, "LIMIT", "title", 120},
		"field of an element": {func() error {
			r := question(work, "y")
			r.Items = append(r.Items, proto.CloneOf(r.GetItems()[0]))
			r.Items[1].Id = ""
			_, err := agent.RequestDecision(ctx, r)
			return err
		}, connect.CodeInvalidArgument, "MISSING", "items[1].id", 0},
		"a wait of an hour": {func() error {
			_, err := agent.ClaimTask(ctx, &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{ClaimId: "claim-id"}, Wait: durationpb.New(time.Hour)})
			return err
		}, connect.CodeInvalidArgument, "LIMIT", "wait", 60},
		"arguments that are no I-JSON": {func() error {
			r := question(work, "z")
			r.Items[0].Action.ArgsJson = []byte(`{"a":1,"a":2}`)
			_, err := agent.RequestDecision(ctx, r)
			return err
		}, connect.CodeInvalidArgument, "DUPLICATE_KEY", "items[0].action.args_json", 0},
		"a lost lease": {func() error {
			_, err := agent.Heartbeat(ctx, &v1.HeartbeatRequest{TaskId: work.GetTask().GetId(), LeaseId: "lse_other"})
			return err
		}, connect.CodeFailedPrecondition, "LEASE_LOST", "", 0},
		"a checkpoint out of turn": {func() error {
			_, err := agent.SaveCheckpoint(ctx, &v1.SaveCheckpointRequest{
				TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Checkpoint: &v1.CheckpointWrite{ExpectedVersion: 4},
			})
			return err
		}, connect.CodeAborted, "CHECKPOINT_CONFLICT", "checkpoint.expected_version", 0},
		"a key with another body": {func() error {
			_, err := agent.CreateTask(ctx, &v1.CreateTaskRequest{IdempotencyKey: "create refusals", Title: "Another"})
			return err
		}, connect.CodeAborted, "KEY_REUSED", "", 0},
		"another question under one key": {func() error {
			r := question(work, "x")
			r.Items[0].Action.ArgsJson = []byte(`{"b":1}`)
			_, err := agent.RequestDecision(ctx, r)
			return err
		}, connect.CodeAborted, "KEY_REUSED", "", 0},
		"a class above the ceiling": {func() error {
			r := question(work, "w")
			r.Items[0].Action.EffectClass = v1.EffectClass_EFFECT_CLASS_IRREVERSIBLE
			_, err := agent.RequestDecision(ctx, r)
			return err
		}, connect.CodePermissionDenied, "CEILING", "", 0},
		"an answer with half a digest": {func() error {
			r := me.answer(t, asked.GetDecision(), "approve")
			r.ViewDigest = r.GetViewDigest()[:16]
			_, err := me.AnswerDecision(ctx, r)
			return err
		}, connect.CodeInvalidArgument, "LENGTH", "view_digest", 32},
		"an answer with another proof": {func() error {
			r := me.answer(t, asked.GetDecision(), "approve")
			r.AnswerKey = "other"
			_, err := me.AnswerDecision(ctx, r)
			return err
		}, connect.CodePermissionDenied, "BAD_PROOF", "", 0},
		"an option nobody offered": {func() error {
			_, err := me.AnswerDecision(ctx, me.answer(t, asked.GetDecision(), "maybe"))
			return err
		}, connect.CodeInvalidArgument, "UNKNOWN_OPTION", "items[0].option_ids[0]", 0},
		"a scope of nothing": {func() error {
			_, err := me.Bootstrap(ctx, &v1.BootstrapRequest{Scope: &v1.Scope{}})
			return err
		}, connect.CodeInvalidArgument, "MISSING", "scope", 0},
		"a page from elsewhere": {func() error {
			_, err := me.Bootstrap(ctx, &v1.BootstrapRequest{
				Scope: &v1.Scope{Scope: &v1.Scope_Account{Account: true}}, Page: []byte("page"),
			})
			return err
		}, connect.CodeInvalidArgument, "INVALID", "page", 0},
		"no credential": {func() error {
			_, err := as(wire, "").GetAccount(ctx, &v1.GetAccountRequest{})
			return err
		}, connect.CodeUnauthenticated, "NO_CREDENTIAL", "", 0},
		"a credential with a typo": {func() error {
			_, err := as(wire, "bk_agt_0123456789_x_y").GetAccount(ctx, &v1.GetAccountRequest{})
			return err
		}, connect.CodeUnauthenticated, "BAD_TOKEN", "", 0},
		"a refresh token as credential": {func() error {
			_, err := as(wire, me.tokens.GetRefreshToken()).GetAccount(ctx, &v1.GetAccountRequest{})
			return err
		}, connect.CodeUnauthenticated, "BAD_TOKEN", "", 0},
		"the claim link again": {func() error {
			_, err := as(wire, "").ClaimServer(ctx, &v1.ClaimServerRequest{
				Secret: "bk_own_0123456789_x_y",
				Installation: &v1.NewInstallation{
					Platform: v1.Platform_PLATFORM_IOS, Label: "Thief", PublicKey: point(t),
				},
			})
			return err
		}, connect.CodeUnauthenticated, "BAD_SECRET", "", 0},
	} {
		code, info := infoOf(t, want.call())
		if code != want.code || info.GetReason() != want.reason || info.GetField() != want.field || info.GetMax() != want.max {
			t.Errorf("%s: %v %v, want %v %s %q %d", name, code, info, want.code, want.reason, want.field, want.max)
		}
	}
}

// TestCredentialsInOnePlace: two headers, a header of another scheme, a query
// and a cookie are no credential.
func TestCredentialsInOnePlace(t *testing.T) {
	t.Parallel()
	s := start(t)
	me := claim(t, s, transports(t)[0].connect(t, s))
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	url := s.URL() + "/beckon.v1.AccountService/GetAccount"
	good := "Bearer " + me.tokens.GetAccessToken()
	for name, c := range map[string]struct {
		header http.Header
		query  string
		reason string
	}{
		"one header":     {http.Header{"Authorization": {good}}, "", ""},
		"twice":          {http.Header{"Authorization": {good, good}}, "", "BAD_TOKEN"},
		"two in one":     {http.Header{"Authorization": {good + ", " + good}}, "", "BAD_TOKEN"},
		"another scheme": {http.Header{"Authorization": {"Basic " + me.tokens.GetAccessToken()}}, "", "BAD_TOKEN"},
		"no scheme":      {http.Header{"Authorization": {me.tokens.GetAccessToken()}}, "", "BAD_TOKEN"},
		"empty":          {http.Header{"Authorization": {""}}, "", "BAD_TOKEN"},
		"too long":       {http.Header{"Authorization": {"Bearer " + strings.Repeat("x", 4096)}}, "", "BAD_TOKEN"},
		"query":          {http.Header{}, "?access_token=" + me.tokens.GetAccessToken(), "NO_CREDENTIAL"},
		"cookie":         {http.Header{"Cookie": {"access_token=" + me.tokens.GetAccessToken()}}, "", "NO_CREDENTIAL"},
	} {
		c.header.Set("Content-Type", "application/json")
		if _, reason, _ := raw(t, client, url+c.query, "", c.header, strings.NewReader(`{}`)); reason != c.reason {
			t.Errorf("%s met %q, want %q", name, reason, c.reason)
		}
	}
}

func TestUnclaimed(t *testing.T) {
	t.Parallel()
	s := start(t)
	waitFor(t, s)
	_, err := as(transports(t)[0].connect(t, s), "").RefreshToken(t.Context(), &v1.RefreshTokenRequest{
		RefreshToken: "x", Attempt: strings.Repeat("a", 16), Proof: make([]byte, 64),
	})
	if code, info := infoOf(t, err); code != connect.CodeFailedPrecondition || info.GetReason() != "UNCLAIMED" {
		t.Error("before the claim:", code, info)
	}
	if !strings.Contains(s.terminal.String(), s.URL()+"/claim#bk_own_") {
		t.Error("the terminal shows", s.terminal)
	}
	if command := "beckon claim '" + s.URL() + "/claim#" + claimSecret(t, s) + "'\n"; !strings.Contains(s.terminal.String(), command) {
		t.Errorf("the terminal shows %s without %s", s.terminal, command)
	}
}

// TestClaimInABrowser: the page behind a claim link is as private as the rest.
func TestClaimInABrowser(t *testing.T) {
	t.Parallel()
	s := start(t)
	answer, err := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil).Get(s.URL() + "/claim")
	check(t, err)
	text, err := io.ReadAll(answer.Body)
	check(t, errors.Join(err, answer.Body.Close()))
	if answer.StatusCode != http.StatusOK || answer.Header.Get("Cache-Control") != "no-store" ||
		answer.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(string(text), "beckon claim '") {
		t.Errorf("it met %d %v %s", answer.StatusCode, answer.Header, text)
	}
}

// TestOtherNames: a page of another site that points its own name at this
// machine gets nothing.
func TestOtherNames(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *server.Config) { c.PublicURL = "https://beckon.example/" })
	waitForPort(t, s)
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	at := "http://" + s.Addr().String()
	for host, want := range map[string]int{
		"beckon.example": 200, "beckon.example:443": 200, "localhost:1": 200, "127.0.0.1": 200, "[::1]:80": 200,
		"evil.example": 421, "127.0.0.1.evil.example": 421, "192.0.2.1": 421,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/healthz", nil)
		check(t, err)
		request.Host = host
		answer, err := client.Do(request)
		check(t, err)
		check(t, answer.Body.Close())
		if answer.StatusCode != want {
			t.Errorf("%s met %d, want %d", host, answer.StatusCode, want)
		}
	}
	if s.URL() != "https://beckon.example" {
		t.Error("the server calls itself", s.URL())
	}
}

// TestGoingAway: a long poll ends with a code that says so, and the server ends
// at once.
func TestGoingAway(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t)[:4] {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			work := held(t, agent, "away")
			was := leaseEnds(t, agent, work.GetTask().GetId())
			ended := make(chan error, 1)
			go func() {
				_, err := agent.Heartbeat(t.Context(), &v1.HeartbeatRequest{
					TaskId: work.GetTask().GetId(), LeaseId: work.GetLeaseId(), Wait: durationpb.New(longest),
				})
				ended <- err
			}()
			// A heartbeat first extends the lease, then waits.
			for leaseEnds(t, agent, work.GetTask().GetId()).Equal(was) {
				if t.Context().Err() != nil {
					t.Fatal("the heartbeat never came")
				}
			}
			began := time.Now()
			check(t, s.stop())
			code, info := infoOf(t, <-ended)
			if code != connect.CodeUnavailable || info.GetReason() != "UNAVAILABLE" {
				t.Error("the poll ended with", code, info)
			}
			if took := time.Since(began); took > 4*time.Second {
				t.Error("the server took", took, "to end")
			}
		})
	}
}

// leaseEnds is until when a task is held.
func leaseEnds(t *testing.T, agent api, task string) time.Time {
	t.Helper()
	got, err := agent.GetTask(t.Context(), &v1.GetTaskRequest{TaskId: task})
	check(t, err)
	return got.GetTask().GetLeaseExpireTime().AsTime()
}

func TestLogsAndMetricsHoldNoContent(t *testing.T) {
	t.Parallel()
	var log terminal
	s := start(t, func(c *server.Config) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	agent := me.agent(t, wire)
	work := held(t, agent, "very secret title")
	_, err := agent.GetTask(t.Context(), &v1.GetTaskRequest{TaskId: "tsk_made-up"})
	if err == nil {
		t.Fatal("a made-up id was found")
	}
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	raw(t, client, s.URL()+"/beckon.v1.TaskService/MadeUp", "", http.Header{"Content-Type": {"application/json"}}, strings.NewReader(`{}`))
	answer, err := client.Get(s.URL() + "/metrics")
	check(t, err)
	metrics, err := io.ReadAll(answer.Body)
	check(t, errors.Join(err, answer.Body.Close()))
	for _, want := range []string{
		`procedure="/beckon.v1.TaskService/CreateTask"`, `reason="NOT_FOUND"`, `procedure="unknown"`, "go_goroutines",
	} {
		if !strings.Contains(string(metrics), want) {
			t.Errorf("metrics hold no %s", want)
		}
	}
	for _, secret := range []string{
		"secret title", work.GetTask().GetId(), work.GetLeaseId(), me.account, me.id, me.account[4:], "made-up", "MadeUp",
		me.tokens.GetAccessToken(), me.tokens.GetRefreshToken(), "bk_own", "127.0.0.1:",
	} {
		if strings.Contains(string(metrics), secret) {
			t.Errorf("metrics hold %q", secret)
		}
		if strings.Contains(strings.ReplaceAll(log.String(), s.Addr().String(), ""), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if !strings.Contains(log.String(), `"reason":"NOT_FOUND"`) || strings.Count(log.String(), `"msg":"call"`) < 5 {
		t.Error("the log is", log.String())
	}
}

// TestRates: a burst is let through, then the caller is told when to come back,
// and a neighbour is not held up by it.
func TestRates(t *testing.T) {
	t.Parallel()
	limits := policy.BenchLimits()
	limits.AgentRate, limits.AgentBurst = 0.001, 8
	s := start(t, func(c *server.Config) { c.Limits = &limits })
	wire := transports(t)[0].connect(t, s)
	me := claim(t, s, wire)
	agent := me.agent(t, wire)
	var err error
	for i := 0; err == nil && i < 20; i++ {
		_, err = agent.ClaimTask(t.Context(), &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{ClaimId: fmt.Sprintf("claim-id-%d", i)}})
	}
	code, info := infoOf(t, err)
	if code != connect.CodeResourceExhausted || info.GetReason() != "RATE" || info.GetRetryAfter().AsDuration() <= 0 {
		t.Error("past the burst:", code, info)
	}
	_, err = me.GetAccount(t.Context(), &v1.GetAccountRequest{})
	check(t, err)
}

// TestDeadlineOfTheCaller: the server ends a poll with the caller's deadline.
func TestDeadlineOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, tr := range transports(t)[:4] {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tr.options...)
			wire := tr.connect(t, s)
			me := claim(t, s, wire)
			agent := me.agent(t, wire)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := agent.ClaimTask(ctx, &v1.ClaimTaskRequest{Claim: &v1.ClaimOptions{ClaimId: "claim-wait"}, Wait: durationpb.New(longest)})
			if code := connect.CodeOf(err); code != connect.CodeDeadlineExceeded && !errors.Is(err, context.DeadlineExceeded) {
				t.Error("the deadline gave", err)
			}
		})
	}
}

func TestTLSIsNotOld(t *testing.T) {
	t.Parallel()
	tr := transports(t)[3]
	s := start(t, tr.options...)
	waitForPort(t, s)
	// Without the lower bound the client would not even ask for 1.1.
	d := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
	}}
	c, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err == nil {
		check(t, c.Close())
		t.Fatal("TLS 1.1 was spoken")
	}
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "remote error" {
		t.Error("the server did not refuse it itself:", err)
	}
}

func point(t *testing.T) []byte {
	t.Helper()
	raw, err := newKey(t).PublicKey.Bytes()
	check(t, err)
	return raw
}

// waitForPort returns once the port answers under its own number.
func waitForPort(t *testing.T, s *running) {
	t.Helper()
	scheme := "http://"
	if s.cfg.TLSCert != "" {
		scheme = "https://"
	}
	tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	answer, err := (&http.Client{Transport: tr}).Get(scheme + s.Addr().String() + "/healthz")
	check(t, err)
	check(t, answer.Body.Close())
}

// A connection that a client keeps in stock does not hold up the end.
func TestGoingAway_UnusedConnection(t *testing.T) {
	t.Parallel()
	s := start(t)
	conn, err := net.Dial("tcp", s.Addr().String())
	check(t, err)
	defer func() { _ = conn.Close() }()
	claim(t, s, transports(t)[0].connect(t, s)) // the server has taken the first one by now
	began := time.Now()
	check(t, s.stop())
	if took := time.Since(began); took > 4*time.Second {
		t.Error("the server took", took, "to end")
	}
}
