package apns_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	keyID  = "KEY1234567"
	teamID = "TEAM123456"
	bundle = "com.example.inbox"
	token  = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	// The start is a whole second, as iat is.
	startUnix = 1_800_000_000
)

// clock is moved by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bench is an emulator with one phone and one team.
type bench struct {
	*apns.Server
	t     testing.TB
	clock *clock
	phone *device.Device
	key   *ecdsa.PrivateKey

	mu     sync.Mutex
	signed map[int64]string // by iat; a provider reuses its token
}

func start(t testing.TB, cfg apns.Config) *bench {
	t.Helper()
	b := &bench{t: t, clock: &clock{at: time.Unix(startUnix, 0)}, signed: map[int64]string{}}
	cfg.Now = b.clock.now
	s, err := apns.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b.Server = s
	b.key = b.register(apns.Key{ID: keyID, TeamID: teamID})
	b.phone = device.New(device.Config{Name: "phone", Now: b.clock.now})
	t.Cleanup(b.phone.Close)
	if err := b.phone.Install(bundle, nil); err != nil {
		t.Fatal(err)
	}
	b.add(apns.Registration{Token: token, Topic: bundle, Env: apns.Sandbox, Phone: b.phone})
	return b
}

func (b *bench) add(r apns.Registration) {
	b.t.Helper()
	if err := b.AddDevice(r); err != nil {
		b.t.Fatal(err)
	}
}

// register makes a key pair and registers it with the given restrictions.
func (b *bench) register(k apns.Key) *ecdsa.PrivateKey {
	b.t.Helper()
	made, p8, err := apns.NewProviderKey(k.ID, k.TeamID)
	if err != nil {
		b.t.Fatal(err)
	}
	made.Topics, made.Envs = k.Topics, k.Envs
	if err := b.RegisterKey(made); err != nil {
		b.t.Fatal(err)
	}
	block, _ := pem.Decode(p8)
	private, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		b.t.Fatal(err)
	}
	return private.(*ecdsa.PrivateKey)
}

// bearer is the provider token of the bench's own key issued some time ago; it is
// the same text for the same second, as a provider's cached token is.
func (b *bench) bearer(age time.Duration) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	iat := b.clock.now().Add(-age).Unix()
	if b.signed[iat] == "" {
		b.signed[iat] = b.sign(b.key, keyID, jwt.MapClaims{"iss": teamID, "iat": iat})
	}
	return b.signed[iat]
}

func (b *bench) sign(key any, kid string, claims jwt.MapClaims) string {
	return b.signWith(jwt.SigningMethodES256, key, kid, claims)
}

func (b *bench) signWith(method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	b.t.Helper()
	t := jwt.NewWithClaims(method, claims)
	if kid != "" {
		t.Header["kid"] = kid
	}
	signed, err := t.SignedString(key)
	if err != nil {
		b.t.Fatal(err)
	}
	return "bearer " + signed
}

// push is a request that a test changes before it is sent.
type push struct {
	env    apns.Env
	method string
	path   string
	header http.Header
	body   string
}

// good is a request that passes every check.
func (b *bench) good() *push {
	return &push{
		env: apns.Sandbox, method: http.MethodPost, path: "/3/device/" + token,
		header: http.Header{
			"authorization":    {b.bearer(0)},
			"apns-id":          {"0aa1b2c3-0000-4000-8000-000000000001"},
			"apns-topic":       {bundle},
			"apns-push-type":   {"alert"},
			"apns-priority":    {"10"},
			"apns-expiration":  {"1800003600"},
			"apns-collapse-id": {"decision-1"},
		},
		body: `{"aps":{"alert":{"title":"Send it?","body":"To <Ann> & Bob"},"sound":"default","badge":2,` +
			`"interruption-level":"time-sensitive","thread-id":"t","category":"DECISION","mutable-content":1},"id":"dec_1"}`,
	}
}

func (p *push) set(name, value string) { p.header[name] = []string{value} }

// reply is an answer, read to its end.
type reply struct {
	Status    int
	Header    http.Header
	Body      string
	Reason    apns.Reason
	Timestamp int64
}

// sender is one client; it dials again when a connection ends.
type sender struct {
	b    *bench
	http *http.Client
}

func (b *bench) sender() *sender {
	b.t.Helper()
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: b.tls()}
	b.t.Cleanup(transport.CloseIdleConnections)
	return &sender{b: b, http: &http.Client{Transport: transport}}
}

func (b *bench) tls() *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.CAPEM())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func (s *sender) try(ctx context.Context, p *push) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, p.method, s.b.URL(p.env)+p.path, strings.NewReader(p.body))
	if err != nil {
		return reply{}, err
	}
	req.Header = maps.Clone(p.header)
	res, err := s.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	got := reply{Status: res.StatusCode, Header: res.Header, Body: string(body)}
	var refusal struct {
		Reason    apns.Reason `json:"reason"`
		Timestamp int64       `json:"timestamp"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&refusal) == nil {
		got.Reason, got.Timestamp = refusal.Reason, refusal.Timestamp
	}
	return got, nil
}

func (s *sender) send(p *push) reply {
	s.b.t.Helper()
	got, err := s.try(s.b.t.Context(), p)
	if err != nil {
		s.b.t.Fatal(err)
	}
	return got
}

func (s *sender) want(p *push, status int, reason apns.Reason) reply {
	s.b.t.Helper()
	got := s.send(p)
	if got.Status != status || got.Reason != reason {
		s.b.t.Errorf("answer = %d %q, want %d %q (body %s)", got.Status, got.Reason, status, reason, got.Body)
	}
	return got
}
