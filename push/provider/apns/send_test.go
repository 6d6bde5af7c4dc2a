package apns_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/provider/apns"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a settable time; the emulator and the provider may each have one.
type clock struct{ offset atomic.Int64 }

func (c *clock) Now() time.Time        { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *clock) Set(off time.Duration) { c.offset.Store(int64(off)) }

type bundle struct {
	emulator *emulator.Server
	provider *apns.Provider
	iphone   *device.Device
	apple    *clock
	ours     *clock
}

func setup(t *testing.T, change ...func(*apns.Config)) *bundle {
	t.Helper()
	return setupWith(t, emulator.Config{}, change...)
}

func setupWith(t *testing.T, ec emulator.Config, change ...func(*apns.Config)) *bundle {
	t.Helper()
	b := &bundle{apple: &clock{}, ours: &clock{}}
	ec.Now = b.apple.Now
	s, err := emulator.Start(t.Context(), ec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b.iphone = device.New(device.Config{Name: "phone", Now: b.apple.Now})
	t.Cleanup(b.iphone.Close)
	key, p8, err := emulator.NewProviderKey("KEY1234567", "TEAM123456")
	if err != nil {
		t.Fatal(err)
	}
	m := decision()
	err = errors.Join(s.RegisterKey(key), b.iphone.Install(m.Address.Topic, nil), s.AddDevice(emulator.Registration{
		Token: m.Address.Token, Topic: m.Address.Topic, Env: emulator.Sandbox, Phone: b.iphone,
	}))
	if err != nil {
		t.Fatal(err)
	}
	private, err := apns.ParseKey(p8)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.CAPEM()) {
		t.Fatal("no CA")
	}
	cfg := apns.Config{
		KeyID: "KEY1234567", TeamID: "TEAM123456", Key: private, RootCAs: roots, Now: b.ours.Now,
		Hosts: map[push.Env]string{
			push.EnvSandbox: s.URL(emulator.Sandbox), push.EnvProduction: s.URL(emulator.Production),
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	if b.provider, err = apns.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.provider.Close)
	b.emulator = s
	return b
}

func (b *bundle) send(t *testing.T, m push.Message) push.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return b.provider.Send(ctx, m)
}

func (b *bundle) script(t *testing.T, f emulator.Fault) {
	t.Helper()
	if err := b.emulator.Script(emulator.Match{}, f); err != nil {
		t.Fatal(err)
	}
}

func wantOK(t *testing.T, v push.Verdict) {
	t.Helper()
	if v.Class != push.OK {
		t.Fatalf("verdict %+v", v)
	}
}

func TestSend_EverythingArrivesAsRendered(t *testing.T) {
	t.Parallel()
	b, m := setup(t), decision()
	m.ExpiresAt = time.Now().Add(time.Hour)
	v := b.send(t, m)
	wantOK(t, v)
	body, _ := apns.Render(m)
	r := b.emulator.Requests()[0]
	if string(r.Payload) != string(body) || r.Bytes != len(body) {
		t.Errorf("on the wire:\n%s\nrendered:\n%s", r.Payload, body)
	}
	if r.ID != m.ProviderID || v.ProviderID != m.ProviderID || r.CollapseID != m.CollapseID || r.Topic != m.Address.Topic ||
		r.PushType != "alert" || r.Priority != "10" || r.KeyID != "KEY1234567" {
		t.Errorf("%+v", r)
	}
}

func TestSend_ExpirationZeroMeansNowOrNever(t *testing.T) {
	t.Parallel()
	b, m := setup(t), decision()
	for want, at := range map[string]time.Time{"0": {}, "1767323045": t0} {
		m.ExpiresAt = at
		wantOK(t, b.send(t, m))
		rs := b.emulator.Requests()
		if got := rs[len(rs)-1].Expiration; got != want {
			t.Errorf("expiration %q, want %q", got, want)
		}
	}
}

func TestSend_AColdBurstOpensOneConnectionAndNoStreamIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if v := b.send(t, decision()); v.Class != push.OK {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	conns := b.emulator.Connections()
	if len(conns) != 1 || conns[0].Refused != 0 {
		t.Errorf("%+v", conns)
	}
}

func TestSend_ManyConnectionsEachWithItsToken(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *apns.Config) { c.Connections = 3 })
	for range 9 {
		wantOK(t, b.send(t, decision()))
	}
	if conns := b.emulator.Connections(); len(conns) != 3 {
		t.Errorf("%+v", conns)
	}
}

// B8: an expired token poisons its connection for ever.
func TestSend_B8_ExpiredTokenHealsOnANewConnection(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *apns.Config) {
		// The clock was 70 minutes behind when the first token was signed.
		var signed atomic.Bool
		right := c.Now
		c.Now = func() time.Time {
			if signed.CompareAndSwap(false, true) {
				return right().Add(-70 * time.Minute)
			}
			return right()
		}
	})
	wantOK(t, b.send(t, decision()))
	if conns := b.emulator.Connections(); len(conns) != 2 {
		t.Errorf("%d connections, want the poisoned one and a new one", len(conns))
	}
}

func TestSend_B8_ABurstOnAnExpiredTokenMakesOneNewConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantOK(t, b.send(t, decision()))
	// Apple's clock runs 21 minutes ahead: what we think good it calls expired.
	b.ours.Set(40 * time.Minute)
	b.apple.Set(61 * time.Minute)
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			if v := b.send(t, decision()); v.Class != push.OK {
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	if conns := b.emulator.Connections(); len(conns) != 2 {
		t.Errorf("%d connections, want the poisoned one and one new", len(conns))
	}
}

func TestSend_ClockSkewIsOurFaultUntilItHeals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ours.Set(-70 * time.Minute)
	v := b.send(t, decision())
	if v.Class != push.Cred || v.Reason != "ExpiredProviderToken" {
		t.Fatalf("%+v", v)
	}
	if n := len(b.emulator.Requests()); n != 2 {
		t.Errorf("%d requests, want one and one more with a new token", n)
	}
	b.ours.Set(0)
	wantOK(t, b.send(t, decision()))
}

func TestSend_AClockSetBackSignsAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ours.Set(30 * time.Minute)
	if v := b.send(t, decision()); v.Class != push.Cred {
		t.Fatalf("a token from the future: %+v", v)
	}
	b.ours.Set(0)
	wantOK(t, b.send(t, decision()))
}

// B7: one token over several connections is refused at rotation.
func TestSend_B7_RotationNeverShowsAConnectionTwoTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := func(d time.Duration) {
		b.ours.Set(d)
		b.apple.Set(d)
		wantOK(t, b.send(t, decision()))
	}
	at(0)
	at(47 * time.Minute)
	b.script(t, emulator.Fault{Reason: emulator.InternalServerError})
	if v := b.send(t, decision()); v.Class != push.Backoff {
		t.Fatalf("%+v", v)
	}
	at(47*time.Minute + time.Second) // a new connection with the old token
	at(48 * time.Minute)             // the token is rotated a minute later
	at(96 * time.Minute)
	tokens := map[int]map[time.Time]bool{}
	for _, r := range b.emulator.Requests() {
		if tokens[r.Conn] == nil {
			tokens[r.Conn] = map[time.Time]bool{}
		}
		tokens[r.Conn][*r.IssuedAt] = true
	}
	if len(tokens) != 4 {
		t.Errorf("%d connections, want 4", len(tokens))
	}
	for conn, seen := range tokens {
		if len(seen) != 1 {
			t.Errorf("connection %d saw %d tokens", conn, len(seen))
		}
	}
}

func TestSend_InternalErrorAndTokenUpdatesReplaceTheConnectionNotTheToken(t *testing.T) {
	t.Parallel()
	for reason, class := range map[emulator.Reason]push.Class{
		emulator.InternalServerError: push.Backoff, emulator.TooManyProviderTokenUpdates: push.SlowAll,
	} {
		b := setup(t)
		b.script(t, emulator.Fault{Reason: reason})
		if v := b.send(t, decision()); v.Class != class {
			t.Errorf("%s: %+v", reason, v)
		}
		wantOK(t, b.send(t, decision()))
		rs := b.emulator.Requests()
		if rs[0].Conn == rs[1].Conn || !rs[0].IssuedAt.Equal(*rs[1].IssuedAt) {
			t.Errorf("%s: connections %d and %d, tokens of %v and %v", reason, rs[0].Conn, rs[1].Conn, rs[0].IssuedAt, rs[1].IssuedAt)
		}
	}
}

func TestSend_GoneKeepsTheMilliseconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.UnixMilli(1_700_000_000_123).UTC()
	b.emulator.Unregister(decision().Address.Token, at)
	v := b.send(t, decision())
	if v.Class != push.Dead || v.Reason != "Unregistered" || !v.DeadAt.Equal(at) {
		t.Errorf("%+v", v)
	}
}

func TestSend_BusyAnswersKeepStatusAndRetryAfter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.script(t, emulator.Fault{Status: 503, Body: []byte("<html>busy"), Header: map[string]string{"Retry-After": "90"}})
	v := b.send(t, decision())
	if v.Class != push.Backoff || v.Reason != "http_503" || v.RetryAfter != 90*time.Second {
		t.Errorf("%+v", v)
	}
}

func TestSend_NoAnswerIsAmbiguousAndTheResendHasTheSameIdentity(t *testing.T) {
	t.Parallel()
	for _, answer := range []emulator.Answer{emulator.NoReply, emulator.Reset, emulator.Closed, emulator.BlackHoled} {
		b := setup(t)
		b.script(t, emulator.Fault{Answer: answer, Store: true})
		ctx, cancel := context.WithCancel(t.Context())
		context.AfterFunc(t.Context(), cancel)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.emulator.Wait(ctx, 1); err == nil && (answer == emulator.NoReply || answer == emulator.BlackHoled) {
				cancel() // the attempt's time is over
			}
		})
		v := b.provider.Send(ctx, decision())
		wg.Wait()
		cancel()
		if v.Class != push.Ambiguous || v.Reason != "no_answer" {
			t.Errorf("%s: %+v", answer, v)
		}
		if answer == emulator.BlackHoled {
			continue
		}
		wantOK(t, b.send(t, decision()))
		rs := b.emulator.Requests()
		if rs[0].ID != rs[1].ID || rs[0].CollapseID != rs[1].CollapseID {
			t.Errorf("%s: %+v", answer, rs)
		}
	}
}

// B30: a dead connection is noticed by pings, and the next send goes through.
func TestSend_B30_ADeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *apns.Config) { c.ReadIdle, c.PingTimeout = time.Second, time.Second })
	b.script(t, emulator.Fault{Answer: emulator.BlackHoled})
	if v := b.send(t, decision()); v.Class != push.Ambiguous {
		t.Fatalf("%+v", v)
	}
	wantOK(t, b.send(t, decision()))
}

func TestSend_WithoutAConnectionNothingWasSent(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*apns.Config){
		"refused":    func(c *apns.Config) { c.Hosts[push.EnvSandbox] = "https://127.0.0.1:1" },
		"unknown CA": func(c *apns.Config) { c.RootCAs = x509.NewCertPool() },
	}
	for name, change := range tests {
		b := setup(t, change)
		if v := b.send(t, decision()); v.Class != push.Backoff || v.Reason != "not_sent" {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestSend_AnAttemptThatIsOverSendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v := b.provider.Send(ctx, decision()); v.Class != push.Backoff {
		t.Errorf("%+v", v)
	}
	if n := len(b.emulator.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestSend_RefusedHereBeforeTheWire(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*push.Message)
		want   push.Verdict
	}{
		{"token with a path", func(m *push.Message) { m.Address.Token = "../../" + strings.Repeat("a1", 30) }, push.Verdict{Class: push.Bug, Reason: "token_form"}},
		{"too large", func(m *push.Message) { m.Text.Body = strings.Repeat("x", 4096) }, push.Verdict{Class: push.Bug, Reason: "payload_too_large"}},
		{"unknown environment", func(m *push.Message) { m.Address.Env = "beta" }, push.Verdict{Class: push.Suspect, Reason: "environment_not_configured"}},
	}
	b := setup(t)
	for _, tt := range tests {
		m := decision()
		tt.change(&m)
		if got := b.send(t, m); got != tt.want {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	if n := len(b.emulator.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestSend_TheWrongEnvironmentIsSuspectAndTheOtherOneWorks(t *testing.T) {
	t.Parallel()
	b, m := setup(t), decision()
	m.Address.Env = push.EnvProduction
	if v := b.send(t, m); v.Class != push.Suspect || v.Reason != "BadDeviceToken" {
		t.Errorf("%+v", v)
	}
	m.Address.Env = m.Address.Env.Other()
	wantOK(t, b.send(t, m))
}

func TestSend_ForeignKeyIsCred(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *apns.Config) { c.Key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader) })
	if v := b.send(t, decision()); v.Class != push.Cred || v.Reason != "InvalidProviderToken" {
		t.Errorf("%+v", v)
	}
}

// B29: connections must not pile up.
func TestClose_B29_EndsConnectionsAndASendOpensThemAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		wantOK(t, b.send(t, decision()))
		b.provider.Close()
	}
	if n := len(b.emulator.Connections()); n != 5 {
		t.Errorf("%d connections", n)
	}
}

func TestClose_LetsASendInFlightFinish(t *testing.T) {
	t.Parallel()
	b := setup(t)
	hold := b.emulator.Hold(emulator.Match{})
	var wg sync.WaitGroup
	wg.Go(func() {
		if v := b.send(t, decision()); v.Class != push.OK {
			t.Errorf("%+v", v)
		}
	})
	if _, err := hold.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.provider.Close()
	hold.Release()
	wg.Wait()
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	other, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	good := apns.Config{KeyID: "k", TeamID: "t", Key: key}
	if _, err := apns.New(good); err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range map[string]func(*apns.Config){
		"no key id":      func(c *apns.Config) { c.KeyID = "" },
		"no team":        func(c *apns.Config) { c.TeamID = "" },
		"no key":         func(c *apns.Config) { c.Key = nil },
		"other curve":    func(c *apns.Config) { c.Key = other },
		"rotates late":   func(c *apns.Config) { c.Rotate = time.Hour },
		"rotates early":  func(c *apns.Config) { c.Rotate = time.Minute },
		"plain http":     func(c *apns.Config) { c.Hosts = map[push.Env]string{push.EnvSandbox: "http://localhost"} },
		"host with path": func(c *apns.Config) { c.Hosts = map[push.Env]string{push.EnvSandbox: "https://localhost/x"} },
	} {
		c := good
		breakIt(&c)
		if _, err := apns.New(c); !errors.Is(err, apns.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseKey_RefusesOtherFiles(t *testing.T) {
	t.Parallel()
	for name, p8 := range map[string]string{
		"empty": "", "not PEM": "hello",
		"not PKCS 8": "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
	} {
		if _, err := apns.ParseKey([]byte(p8)); !errors.Is(err, apns.ErrConfig) || strings.Contains(err.Error(), "hello") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
