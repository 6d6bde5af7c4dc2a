package fcm_test

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	app   = "com.example.inbox"
	scope = "https://www.googleapis.com/auth/firebase.messaging"
	// The start is a whole second, as iat is.
	startUnix = 1_800_000_000
)

// identity is one account for all tests: an RSA key takes long to make.
var identity = sync.OnceValue(func() (out struct {
	fcm.ServiceAccount
	key *rsa.PrivateKey
},
) {
	var err error
	if out.ServiceAccount, out.key, err = fcm.NewServiceAccount(fcm.DefaultProject); err != nil {
		panic(err)
	}
	return out
})

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

// bench is an emulator with one Android phone, one account and an access token.
type bench struct {
	*fcm.Server
	t      testing.TB
	clock  *clock
	phone  *device.Device
	token  string
	fid    string
	access string
	http   *http.Client
}

func start(t testing.TB, cfg fcm.Config) *bench {
	t.Helper()
	b := &bench{t: t, clock: &clock{at: time.Unix(startUnix, 0)}, token: fcm.NewToken(), fid: fcm.NewFID()}
	cfg.Now = b.clock.now
	s, err := fcm.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	b.Server = s
	if err := b.RegisterAccount(identity().ServiceAccount); err != nil {
		t.Fatal(err)
	}
	b.phone = device.New(device.Config{Name: "pixel", System: device.Android, Now: b.clock.now})
	t.Cleanup(b.phone.Close)
	if err := b.phone.Install(app, nil); err != nil {
		t.Fatal(err)
	}
	b.add(fcm.Registration{Token: b.token, FID: b.fid, App: app, Topics: []string{"news"}, Phone: b.phone})
	b.http = b.client(true)
	b.renew()
	return b
}

func (b *bench) client(h2 bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(b.CAPEM())
	transport := &http.Transport{ForceAttemptHTTP2: h2, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	b.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (b *bench) add(r fcm.Registration) {
	b.t.Helper()
	if err := b.AddDevice(r); err != nil {
		b.t.Fatal(err)
	}
}

// renew gets a new access token.
func (b *bench) renew() {
	b.t.Helper()
	got := b.exchange(b.assertion(b.claims()))
	if got.Status != http.StatusOK || got.AccessToken == "" {
		b.t.Fatalf("access token: %d %s", got.Status, got.Body)
	}
	b.access = got.AccessToken
}

func (b *bench) claims() jwt.MapClaims {
	now := b.clock.now().Unix()
	return jwt.MapClaims{"iss": identity().Email, "aud": b.TokenURL(), "scope": scope, "iat": now, "exp": now + 3600}
}

func (b *bench) assertion(claims jwt.MapClaims) url.Values {
	return b.signed(jwt.SigningMethodRS256, identity().key, identity().KeyID, claims)
}

func (b *bench) signed(method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) url.Values {
	b.t.Helper()
	t := jwt.NewWithClaims(method, claims)
	if kid != "" {
		t.Header["kid"] = kid
	}
	text, err := t.SignedString(key)
	if err != nil {
		b.t.Fatal(err)
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {text}}
}

// reply is an answer, read to its end.
type reply struct {
	Status      int
	Header      http.Header
	Proto       string
	Body        string
	AccessToken string `json:"access_token"`
	ExpiresIn   int    `json:"expires_in"`
	TokenType   string `json:"token_type"`
	Name        string `json:"name"`
	// Refusal is the word of the token endpoint.
	Refusal string
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Status  string `json:"status"`
		Details []struct {
			Type            string `json:"@type"`
			ErrorCode       fcm.ErrorCode
			Reason          string
			FieldViolations []struct{ Field, Description string }
			Violations      []struct{ Subject, Description string }
		} `json:"details"`
	}
}

func (r *reply) code() (out fcm.ErrorCode) {
	for _, d := range r.Error.Details {
		if d.Type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" {
			out = d.ErrorCode
		}
	}
	return out
}

func (r *reply) fields() (out []string) {
	for _, d := range r.Error.Details {
		for _, v := range d.FieldViolations {
			if d.Type == "type.googleapis.com/google.rpc.BadRequest" && v.Description != "" {
				out = append(out, v.Field)
			}
		}
	}
	return out
}

func (b *bench) do(ctx context.Context, client *http.Client, method, path string, header http.Header, body string) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.URL()+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header = maps.Clone(header)
	res, err := client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	got := reply{Status: res.StatusCode, Header: res.Header, Proto: res.Proto, Body: string(text)}
	if json.Unmarshal(text, &got) != nil {
		var word struct{ Error string }
		_ = json.Unmarshal(text, &word)
		got.Refusal = word.Error
	}
	return got, nil
}

func (b *bench) exchange(form url.Values) reply {
	b.t.Helper()
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	got, err := b.do(b.t.Context(), b.client(true), http.MethodPost, "/token", header, form.Encode())
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// push is a request that a test changes before it is sent.
type push struct {
	method string
	path   string
	header http.Header
	top    map[string]any
	msg    map[string]any
	raw    string // replaces top when it is not ""
}

// good is a request that passes every check.
func (b *bench) good() *push {
	msg := map[string]any{
		"token": b.token,
		"data":  map[string]any{"decision": "dec_1", "text": "To <Ann> & Bob"},
		"android": map[string]any{
			"priority": "high", "ttl": "3600s", "restricted_package_name": app, "direct_boot_ok": true,
		},
	}
	return &push{
		method: http.MethodPost, path: "/v1/projects/" + fcm.DefaultProject + "/messages:send",
		header: http.Header{"Authorization": {"Bearer " + b.access}, "Content-Type": {"application/json"}},
		top:    map[string]any{"message": msg}, msg: msg,
	}
}

func (p *push) android() map[string]any { return p.msg["android"].(map[string]any) }

func (p *push) body() string {
	if p.raw != "" {
		return p.raw
	}
	out, err := json.Marshal(p.top)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func (b *bench) try(ctx context.Context, p *push) (reply, error) {
	return b.do(ctx, b.http, p.method, p.path, p.header, p.body())
}

func (b *bench) send(p *push) reply {
	b.t.Helper()
	got, err := b.try(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

func (b *bench) want(p *push, status int, code fcm.ErrorCode, fields ...string) reply {
	b.t.Helper()
	got := b.send(p)
	if got.Status != status || got.code() != code || !slices.Equal(got.fields(), fields) {
		b.t.Errorf("answer = %d %q %q, want %d %q %q (body %s)", got.Status, got.code(), got.fields(), status, code, fields, got.Body)
	}
	if status != http.StatusOK && got.Error.Code != status && got.Error.Code != 0 {
		b.t.Errorf("code in the body = %d, want %d", got.Error.Code, status)
	}
	return got
}

func (b *bench) arrived() (ids []string) {
	for _, e := range b.phone.History().All() {
		if e.Kind == device.Received {
			ids = append(ids, e.ID)
		}
	}
	return ids
}
