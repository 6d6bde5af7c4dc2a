package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectinprocess"
	"connectrpc.com/connect/v2/connectproto"
	"go.uber.org/goleak"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/proof"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// terminal is what an operator would see.
type terminal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *terminal) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *terminal) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// running is a server with everything around it.
type running struct {
	*server.Server

	cfg      server.Config
	terminal *terminal
	// stop ends the server and waits for it; the end of the test does too.
	stop func() error
}

// start runs a server on a memory store with rates out of the way.
func start(t *testing.T, options ...func(*server.Config)) *running {
	t.Helper()
	limits := policy.BenchLimits()
	out := &terminal{}
	cfg := server.Config{
		Config: config.Default(t.TempDir()), Engine: memstore.New(), Terminal: out, Limits: &limits,
	}
	cfg.Listen = "127.0.0.1:0"
	for _, o := range options {
		o(&cfg)
	}
	s, err := server.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error("the server ended with", err)
		}
	})
	return &running{Server: s, cfg: cfg, terminal: out, stop: stop}
}

// transport is one way to reach a server.
type transport struct {
	name    string
	options []func(*server.Config)
	connect func(t *testing.T, s *running) connect.Transport
}

func transports(t *testing.T) []transport {
	t.Helper()
	cert := newCert(t)
	useTLS := func(c *server.Config) { c.TLSCert, c.TLSKey = cert.certFile, cert.keyFile }
	return []transport{
		{name: "h1", connect: overHTTP(func(p *http.Protocols) { p.SetHTTP1(true) }, nil)},
		{name: "h1 JSON", connect: overHTTP(func(p *http.Protocols) { p.SetHTTP1(true) }, nil, connecthttp.WithProtoJSON())},
		{name: "h2c", connect: overHTTP(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, nil)},
		{name: "h2 TLS", options: []func(*server.Config){useTLS}, connect: overHTTP(func(p *http.Protocols) { p.SetHTTP2(true) }, cert.roots)},
		{name: "h2c gRPC", connect: overHTTP(func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) }, nil, connecthttp.WithGRPC())},
		{
			name: "in process", options: []func(*server.Config){func(c *server.Config) { c.InProcess = true }},
			connect: func(_ *testing.T, s *running) connect.Transport { return connectinprocess.New(s.RPC()) },
		},
	}
}

func overHTTP(choose func(*http.Protocols), roots *x509.CertPool, options ...connecthttp.Option) func(*testing.T, *running) connect.Transport {
	return func(t *testing.T, s *running) connect.Transport {
		t.Helper()
		return connecthttp.NewTransport(httpClient(t, choose, roots), s.URL(), options...)
	}
}

func httpClient(t *testing.T, choose func(*http.Protocols), roots *x509.CertPool) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	choose(protocols)
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// cert is a certificate for 127.0.0.1 and whoever trusts it.
type cert struct {
	certFile, keyFile string
	roots             *x509.CertPool
}

func newCert(t *testing.T) cert {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	dir := t.TempDir()
	c := cert{certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem"), roots: x509.NewCertPool()}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	check(t, os.WriteFile(c.certFile, chain, 0o600))
	check(t, os.WriteFile(c.keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600))
	c.roots.AppendCertsFromPEM(chain)
	return c
}

// api is every service as one caller reaches it.
type api struct {
	beckonv1connect.TaskServiceClient
	beckonv1connect.DecisionServiceClient
	beckonv1connect.ThreadServiceClient
	beckonv1connect.ItemServiceClient
	beckonv1connect.SyncServiceClient
	beckonv1connect.AccountServiceClient
	beckonv1connect.AddressServiceClient
	beckonv1connect.AgentServiceClient
	beckonv1connect.ArtifactServiceClient
	beckonv1connect.InstallationServiceClient
	beckonv1connect.PairingServiceClient
	beckonv1connect.TokenServiceClient
}

// as calls with a credential; an empty one is none.
func as(tr connect.Transport, token string) api {
	c := connect.NewClient(tr, func(next connect.ClientFunc) connect.ClientFunc {
		return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
			if info, ok := connect.CallInfoForClientContext(ctx); ok && token != "" {
				info.RequestHeader().Set("Authorization", "Bearer "+token)
			}
			return next(ctx, spec)
		}
	})
	return api{
		beckonv1connect.NewTaskServiceClient(c), beckonv1connect.NewDecisionServiceClient(c),
		beckonv1connect.NewThreadServiceClient(c), beckonv1connect.NewItemServiceClient(c),
		beckonv1connect.NewSyncServiceClient(c), beckonv1connect.NewAccountServiceClient(c),
		beckonv1connect.NewAddressServiceClient(c), beckonv1connect.NewAgentServiceClient(c),
		beckonv1connect.NewArtifactServiceClient(c),
		beckonv1connect.NewInstallationServiceClient(c), beckonv1connect.NewPairingServiceClient(c),
		beckonv1connect.NewTokenServiceClient(c),
	}
}

// phone is an installation with the key that only it holds.
type phone struct {
	api

	server, account, id string
	key                 *ecdsa.PrivateKey
	tokens              *v1.Tokens
}

// claimSecret is what stands after the # of the printed link, or of a new one
// where nothing is printed.
func claimSecret(t *testing.T, s *running) string {
	t.Helper()
	if s.cfg.InProcess {
		link, err := s.App().CreateClaimLink(t.Context(), policy.Principal{Kind: policy.Operator}, app.CreateClaimLink{})
		check(t, err)
		return link.Secret.Reveal()
	}
	waitFor(t, s)
	found := regexp.MustCompile(`/claim#(bk_own_\w+)`).FindStringSubmatch(s.terminal.String())
	if found == nil {
		t.Fatal("no claim link was printed")
	}
	return found[1]
}

// waitFor returns once the port is served, by which time the link is printed.
func waitFor(t *testing.T, s *running) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := c.Get(s.URL() + "/healthz")
	check(t, err)
	check(t, answer.Body.Close())
}

// claim makes the first device of a server.
func claim(t *testing.T, s *running, tr connect.Transport) phone {
	t.Helper()
	p := phone{key: newKey(t)}
	public, err := proof.MarshalPublicKey(&p.key.PublicKey)
	check(t, err)
	claimed, err := as(tr, "").ClaimServer(t.Context(), &v1.ClaimServerRequest{
		Secret: claimSecret(t, s),
		Installation: &v1.NewInstallation{
			Platform: v1.Platform_PLATFORM_IOS, Label: "Phone", PublicKey: public, Locale: "en",
		},
	})
	check(t, err)
	p.server, p.account, p.id, p.tokens = claimed.GetServerId(), claimed.GetAccountId(), claimed.GetInstallation().GetId(), claimed.GetTokens()
	p.api = as(tr, claimed.GetTokens().GetAccessToken())
	return p
}

// agent makes an agent of the phone's account with a key.
func (p phone) agent(t *testing.T, tr connect.Transport) api {
	t.Helper()
	created, err := p.CreateAgent(t.Context(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder"})
	check(t, err)
	issued, err := p.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: created.GetLink().GetAgentId()})
	check(t, err)
	return as(tr, issued.GetSecret())
}

// answer signs an answer to a decision of one item.
func (p phone) answer(t *testing.T, d *v1.Decision, option string) *v1.AnswerDecisionRequest {
	t.Helper()
	view, err := proof.ViewDigest(d.GetId(), uint64(d.GetRevision()), nil)
	check(t, err)
	digest, err := proof.AnswerDigest([]proof.AnswerItem{{ItemID: d.GetItems()[0].GetId(), OptionIDs: []string{option}}})
	check(t, err)
	key := "answer-" + option
	signature, err := proof.SignAnswer(p.key, proof.AnswerTuple{
		ServerID: p.server, Account: p.account, Installation: p.id, Decision: d.GetId(), Revision: uint64(d.GetRevision()),
		Asked: proof.Digest(d.GetAskedDigest()), View: view, Answer: digest, AnswerKey: key,
	})
	check(t, err)
	return &v1.AnswerDecisionRequest{
		DecisionId: d.GetId(), Revision: d.GetRevision(), AskedDigest: d.GetAskedDigest(), ViewDigest: view[:], AnswerKey: key,
		Items: []*v1.AnswerItem{{ItemId: d.GetItems()[0].GetId(), OptionIds: []string{option}}},
		Proof: signature, Surface: v1.Surface_SURFACE_APP,
	}
}

// held is a task in the hands of its agent.
func held(t *testing.T, agent api, title string) *v1.Claim {
	t.Helper()
	created, err := agent.CreateTask(t.Context(), &v1.CreateTaskRequest{
		IdempotencyKey: "create " + title, Title: title, Claim: &v1.ClaimOptions{ClaimId: "claim-" + title},
	})
	check(t, err)
	return created.GetClaim()
}

// question asks for a yes to something that can be undone.
func question(claim *v1.Claim, key string) *v1.RequestDecisionRequest {
	return &v1.RequestDecisionRequest{
		TaskId: claim.GetTask().GetId(), LeaseId: claim.GetLeaseId(), Key: key,
		Kind: v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, Title: "Write the report?",
		Items: []*v1.DecisionItem{{Id: "it", Question: "Write it?", Action: &v1.Action{
			App: "files", Operation: "write", ArgsJson: []byte(`{"name":"` + key + `"}`),
			EffectClass: v1.EffectClass_EFFECT_CLASS_WRITE_REVERSIBLE,
		}}},
	}
}

// infoOf reads the one detail of a refusal.
func infoOf(t *testing.T, err error) (connect.Code, *v1.ErrorInfo) {
	t.Helper()
	e, ok := errors.AsType[*connect.Error](err)
	if !ok {
		t.Fatalf("not a refusal: %v", err)
	}
	if len(e.Details()) != 1 {
		t.Fatalf("%d details in %v", len(e.Details()), err)
	}
	m, err := connectproto.UnmarshalErrorDetail(e.Details()[0])
	check(t, err)
	info, ok := m.(*v1.ErrorInfo)
	if !ok {
		t.Fatalf("detail is %T", m)
	}
	return e.Code(), info
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	return key
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
