package fcm_test

import (
	"context"
	"crypto/x509"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

// strict is a provider in front of the strict stand-in for FCM.
type strict struct {
	google   *emulator.Server
	provider *fcm.Provider
}

func before(t *testing.T, change ...func(*fcm.Config)) *strict {
	t.Helper()
	s, err := emulator.Start(t.Context(), emulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	account, err := s.Issue("")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []push.Message{decision(), result()} {
		r := emulator.Registration{App: m.Address.Topic, Token: m.Address.Token}
		if m.Address.Kind == push.KindFCMFID {
			r.Token, r.FID = "", m.Address.Token
		}
		if err := s.AddDevice(r); err != nil {
			t.Fatal(err)
		}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CAPEM()) {
		t.Fatal("no CA")
	}
	c := fcm.Config{ServiceAccount: account, Endpoint: s.URL() + "/v1", TokenURI: s.TokenURL(), RootCAs: roots}
	for _, f := range change {
		f(&c)
	}
	p, err := fcm.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &strict{google: s, provider: p}
}

func (s *strict) push(t *testing.T, m push.Message) push.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return s.provider.Send(ctx, m)
}

func (s *strict) script(t *testing.T, m emulator.Match, f emulator.Fault) {
	t.Helper()
	if err := s.google.Script(m, f); err != nil {
		t.Fatal(err)
	}
}

func TestStrict_TokensAndInstallationIDsAreTaken(t *testing.T) {
	t.Parallel()
	s := before(t)
	for i, m := range []push.Message{decision(), result()} {
		m.ExpiresAt = time.Now().Add(time.Hour)
		v := s.push(t, m)
		want(t, v, push.OK, "")
		r := s.google.Requests()[i]
		message, _ := fcm.Render(m, time.Now())
		if len(r.Strict) > 0 || r.Token != m.Address.Token || v.ProviderID != r.Name || r.Priority != "high" || r.CollapseKey != "" || r.Proto != "HTTP/2.0" {
			t.Errorf("%+v", r)
		}
		if !maps.Equal(r.Data, message.Data) {
			t.Error(cmp.Diff(message.Data, r.Data))
		}
	}
}

func TestStrict_EveryCode(t *testing.T) {
	t.Parallel()
	s := before(t)
	for name, tt := range map[string]struct {
		fault  emulator.Fault
		class  push.Class
		reason string
		least  time.Duration
	}{
		"unregistered":      {emulator.Fault{Code: emulator.Unregistered}, push.Dead, "UNREGISTERED", 0},
		"no project":        {emulator.Fault{Status: 404}, push.Cred, "NOT_FOUND", 0},
		"bad field":         {emulator.Fault{Code: emulator.InvalidArgument, Field: "message.data"}, push.Bug, "INVALID_ARGUMENT", 0},
		"bad token":         {emulator.Fault{Code: emulator.InvalidArgument}, push.Suspect, "INVALID_ARGUMENT", 0},
		"another sender":    {emulator.Fault{Code: emulator.SenderIDMismatch}, push.Suspect, "SENDER_ID_MISMATCH", 0},
		"forbidden":         {emulator.Fault{Status: 403}, push.Cred, "PERMISSION_DENIED", 0},
		"Apple's key":       {emulator.Fault{Code: emulator.ThirdPartyAuthError}, push.Cred, "THIRD_PARTY_AUTH_ERROR", 0},
		"quota":             {emulator.Fault{Code: emulator.QuotaExceeded, Quota: emulator.ProjectQuota}, push.SlowAll, "QUOTA_EXCEEDED", time.Minute},
		"quota, 10 minutes": {emulator.Fault{Code: emulator.QuotaExceeded, RetryAfter: "600"}, push.SlowAll, "QUOTA_EXCEEDED", 10 * time.Minute},
		"device quota":      {emulator.Fault{Code: emulator.QuotaExceeded, Quota: emulator.DeviceQuota}, push.SlowDevice, "QUOTA_EXCEEDED", 0},
		"internal":          {emulator.Fault{Code: emulator.Internal}, push.Backoff, "INTERNAL", 10 * time.Second},
		"unspecified":       {emulator.Fault{Code: emulator.UnspecifiedError}, push.Backoff, "UNSPECIFIED_ERROR", 10 * time.Second},
		"unavailable":       {emulator.Fault{Code: emulator.Unavailable, RetryAfter: "30"}, push.Backoff, "UNAVAILABLE", 30 * time.Second},
		"no answer at all":  {emulator.Fault{Answer: emulator.Closed}, push.Ambiguous, "no_answer", 0},
		"reset":             {emulator.Fault{Answer: emulator.Reset, Store: true}, push.Ambiguous, "no_answer", 0},
	} {
		seen := len(s.google.Requests())
		s.script(t, emulator.Match{}, tt.fault)
		got := s.push(t, decision())
		if diff := cmp.Diff(push.Verdict{Class: tt.class, Reason: tt.reason, RetryAfter: tt.least}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if n := len(s.google.Requests()) - seen; n != 1 {
			t.Errorf("%s: %d requests", name, n)
		}
		s.google.ClearScript()
	}
}

// B9: delivered and answered as failed. One attempt, and the next one has the
// same tag, so it replaces.
func TestStrict_B9_UnavailableAfterStoring(t *testing.T) {
	t.Parallel()
	s := before(t)
	s.script(t, emulator.Match{}, emulator.Fault{Code: emulator.Unavailable, Store: true})
	want(t, s.push(t, decision()), push.Backoff, "UNAVAILABLE")
	want(t, s.push(t, decision()), push.OK, "")
	all := s.google.Requests()
	if len(all) != 2 || !all[0].Stored || all[0].Data[fcm.KeyTag] == "" || all[0].Data[fcm.KeyTag] != all[1].Data[fcm.KeyTag] {
		t.Errorf("%+v", all)
	}
}

// B11: a phone that deleted the app is dead after one send.
func TestStrict_DeletedApp(t *testing.T) {
	t.Parallel()
	s := before(t)
	s.google.Unregister(decision().Address.Token)
	want(t, s.push(t, decision()), push.Dead, "UNREGISTERED")
	s.google.Unregister(result().Address.Token)
	want(t, s.push(t, result()), push.Dead, "UNREGISTERED")
}

func TestStrict_WrongProjectCondemnsNobody(t *testing.T) {
	t.Parallel()
	s := before(t, func(c *fcm.Config) { c.ProjectID = "another-project" })
	want(t, s.push(t, decision()), push.Cred, "NOT_FOUND")
	s.google.AddProject("another-project")
	want(t, s.push(t, decision()), push.Cred, "PERMISSION_DENIED")
}

func TestStrict_AnExpiredAccessTokenIsReplaced(t *testing.T) {
	t.Parallel()
	s := before(t)
	want(t, s.push(t, decision()), push.OK, "")
	s.google.ExpireAccessTokens()
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() { want(t, s.push(t, decision()), push.OK, "") })
	}
	wg.Wait()
	asked := 0
	for _, r := range s.google.Log().All() {
		if r.Endpoint == emulator.TokenEndpoint {
			asked++
		}
	}
	if asked != 2 {
		t.Errorf("asked for %d tokens", asked)
	}
}

func TestStrict_ADeletedAccountIsCred(t *testing.T) {
	t.Parallel()
	s := before(t)
	want(t, s.push(t, decision()), push.OK, "")
	for _, r := range s.google.Log().All() {
		s.google.RevokeAccount(r.Account)
	}
	want(t, s.push(t, decision()), push.Cred, "token_invalid_grant")
}

// B32: more at once than one connection admits, in front of a limit of 100.
func TestStrict_ABurstIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	const burst = 1000
	s := before(t)
	var wg sync.WaitGroup
	for range burst {
		wg.Go(func() { want(t, s.push(t, decision()), push.OK, "") })
	}
	wg.Wait()
	if n := len(s.google.Requests()); n != burst {
		t.Errorf("%d requests", n)
	}
}
