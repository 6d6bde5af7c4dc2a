package fcm_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/fcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const project = "demo-beckon"

func decision() push.Message {
	return push.Message{
		Delivery: "dlv_r_1",
		Address: push.Address{
			ID: "adr_r_1", Kind: push.KindFCMToken, Topic: "dev.beckon.app",
			Token: "cdefghijklmnopqrstuvwx:APA91b" + strings.Repeat("A", 134), AccountTag: "tag", Level: push.LevelFull,
		},
		ProviderID: push.ProviderID("dlv_r_1"),
		CollapseID: push.CollapseID("dec_r_1"),
		ExpiresAt:  t0.Add(time.Hour),
		Text:       push.Text{Title: "mailer needs a decision", Body: "Send <b>mail</b> & \"more\"?\nTo: 214 👩‍👩‍👧 日本"},
		Payload: push.Payload{
			Kind: push.DecisionRequired, Account: "tag",
			Subject: push.Subject{Thread: "thr_r_1", Task: "tsk_r_1", Decision: "dec_r_1", Version: 2},
			Asked:   "00ff", AsOf: "c3RhbXA", Badge: push.Badge{Count: 3, Epoch: "ZQ", Version: 7}, ExpiresAt: t0,
			Actions: []push.Action{{Verb: push.Approve, Token: "a.b.c"}, {Verb: push.Deny, Token: "d.e.f"}},
		},
	}
}

// seen is one request to send.
type seen struct {
	path, bearer, proto string
	body                []byte
}

// google is a small FCM: it hands out tokens t1, t2, … and answers as told.
type google struct {
	*httptest.Server
	send  func(n int, w http.ResponseWriter, r *http.Request)
	token func(n int, w http.ResponseWriter, r *http.Request)
	conns atomic.Int64

	mu    sync.Mutex
	sends []seen
	asked int
}

func accept(_ int, w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"name":"projects/demo-beckon/messages/0:1"}`)
}

func issue(n int, w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, `{"access_token":"t%d","token_type":"Bearer","expires_in":3600}`, n)
}

func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/token" {
		g.mu.Lock()
		g.asked++
		n := g.asked
		g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		g.token(n, w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.sends = append(g.sends, seen{path: r.URL.Path, bearer: r.Header.Get("Authorization"), proto: r.Proto, body: body})
	n := len(g.sends)
	g.mu.Unlock()
	g.send(n, w, r)
}

func (g *google) requests() []seen {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]seen(nil), g.sends...)
}

func (g *google) questions() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// key is made once: RSA keys are slow to find.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

func accountFile(t *testing.T, change ...func(map[string]string)) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		t.Fatal(err)
	}
	file := map[string]string{
		"type": "service_account", "project_id": project, "private_key_id": "k1",
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email": "beckon@demo-beckon.iam.gserviceaccount.com",
		"token_uri":    "https://oauth2.googleapis.com/token",
	}
	for _, c := range change {
		c(file)
	}
	b, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type bundle struct {
	google   *google
	provider *fcm.Provider
}

// setup starts a server and a provider; tune may change either before.
func setup(t *testing.T, tune func(*google, *fcm.Config)) *bundle {
	t.Helper()
	g := &google{send: accept, token: issue}
	g.Server = httptest.NewUnstartedServer(g)
	g.EnableHTTP2 = true
	g.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			g.conns.Add(1)
		}
	}
	// Tokens end by the clock of the machine; a provider that lives at t0 never
	// sees one end.
	c := fcm.Config{ServiceAccount: accountFile(t), Now: func() time.Time { return t0 }}
	if tune != nil {
		tune(g, &c)
	}
	g.StartTLS()
	t.Cleanup(g.Close)
	if c.Endpoint == "" {
		c.Endpoint = g.URL + "/v1"
	}
	c.TokenURI = g.URL + "/token"
	c.RootCAs = x509.NewCertPool()
	c.RootCAs.AddCert(g.Certificate())
	p, err := fcm.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &bundle{google: g, provider: p}
}

func (b *bundle) push(t *testing.T, m push.Message) push.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return b.provider.Send(ctx, m)
}

func want(t *testing.T, got push.Verdict, class push.Class, reason string) {
	t.Helper()
	if got.Class != class || got.Reason != reason {
		t.Errorf("verdict %+v, want %s %q", got, class, reason)
	}
}
