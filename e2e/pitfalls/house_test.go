package pitfalls_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/faultproxy"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a server on a disk with a person and an agent. Both reach it directly
// unless a test puts something in between.
type house struct {
	t    *testing.T
	cfg  server.Config
	stop func()
	// url stays the same when the server is started again.
	url     string
	profile string
	owner   *beckon.Person
	agent   *beckon.Agent
}

// newHouse starts everything; beat is the time between heartbeats.
func newHouse(t *testing.T, beat time.Duration) *house {
	t.Helper()
	limits := policy.BenchLimits()
	limits.Beat = beat
	cfg := server.Config{Config: config.Default(t.TempDir()), Limits: &limits}
	cfg.Listen = "127.0.0.1:0"
	cfg.AdminSocket = filepath.Join(t.TempDir(), "a.sock")
	h := &house{t: t, cfg: cfg, profile: filepath.Join(t.TempDir(), "owner.json")}
	s := h.start()
	h.url, h.cfg.Listen = s.URL(), s.Addr().String()
	h.served() // its own claim link is made by then, and this one takes its place
	link := must(s.App().CreateClaimLink(t.Context(), policy.Principal{Kind: policy.Operator}, app.CreateClaimLink{}))(t)
	device := beckon.Device{Platform: v1.Platform_PLATFORM_IOS, Label: "phone"}
	h.owner = must(beckon.Claim(t.Context(), h.profile, h.url+"/claim#"+link.Secret.Reveal(), device, beckon.Options{}))(t)
	t.Cleanup(h.owner.Close)
	made := must(h.owner.Agents.CreateAgent(t.Context(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder"}))(t)
	key := must(h.owner.Agents.IssueKey(t.Context(), &v1.IssueKeyRequest{AgentId: made.GetLink().GetAgentId()}))(t)
	h.agent = must(beckon.NewAgent(beckon.KeyFile{Server: h.url, Key: key.GetSecret()}, beckon.Options{}))(t)
	t.Cleanup(h.agent.Close)
	return h
}

// start runs the server until the test or stop ends it.
func (h *house) start() *server.Server {
	h.t.Helper()
	s := must(server.New(h.t.Context(), h.cfg))(h.t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error("the server ended with", err)
		}
	})
	h.t.Cleanup(h.stop)
	return s
}

// served returns once the server answers.
func (h *house) served() {
	h.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res := must(client.Get(h.url + "/healthz"))(h.t)
	check(h.t, res.Body.Close())
}

// started is a task in the hands of the agent.
func (h *house) started(title string) *beckon.Work {
	h.t.Helper()
	return must(h.agent.Start(h.t.Context(), &v1.CreateTaskRequest{Title: title}))(h.t)
}

// network is what a person's device has to go through: connections that fail,
// and behind them, where requests are looked into, a proxy with TLS.
type network struct {
	*faultproxy.Proxy

	http *faultproxy.HTTP
	url  string
	ca   string
}

// bytesOnly carries connections to the server as they are: HTTP/2 in plain text.
func (h *house) bytesOnly(seed uint64) *network {
	h.t.Helper()
	p := must(faultproxy.Listen(h.t.Context(), "127.0.0.1:0", h.cfg.Listen, seed))(h.t)
	h.t.Cleanup(func() { check(h.t, p.Close()) })
	return &network{Proxy: p, url: "http://" + p.Addr()}
}

// requests ends TLS before the server and looks into requests.
func (h *house) requests(seed uint64) *network {
	h.t.Helper()
	pair, pem, err := faultproxy.NewCertificate()
	check(h.t, err)
	n := &network{ca: filepath.Join(h.t.TempDir(), "ca.pem")}
	check(h.t, writeFile(n.ca, pem))
	n.http = must(faultproxy.ListenHTTP(h.t.Context(), "127.0.0.1:0", faultproxy.HTTPConfig{Server: h.url, Certificate: pair, Seed: seed}))(h.t)
	h.t.Cleanup(func() { check(h.t, n.http.Close()) })
	n.Proxy = must(faultproxy.Listen(h.t.Context(), "127.0.0.1:0", n.http.Addr(), seed))(h.t)
	h.t.Cleanup(func() { check(h.t, n.Close()) })
	n.url = "https://" + n.Addr()
	return n
}

// over is the person's device behind a network.
func (h *house) over(n *network, retry beckon.Retry) *beckon.Person {
	h.t.Helper()
	p := must(beckon.OpenPerson(h.profile, beckon.Options{Server: n.url, CAFile: n.ca, Retry: retry}))(h.t)
	h.t.Cleanup(p.Close)
	return p
}

// screen is an inbox that follows, and what it has shown.
type screen struct {
	t     *testing.T
	inbox *beckon.Inbox
	news  chan struct{}

	mu sync.Mutex
	// shown has the time at which each task was seen first.
	shown map[string]time.Time
	// look is called with each picture, on the goroutine that follows.
	look func()
}

// follow shows a person's inbox until the test ends.
func follow(t *testing.T, p *beckon.Person) *screen {
	t.Helper()
	s := &screen{t: t, inbox: p.Inbox(), shown: map[string]time.Time{}, news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.inbox.Follow(ctx, s.draw) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error("Follow ended with", err)
		}
	})
	return s
}

func (s *screen) draw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, task := range s.inbox.Tasks() {
		if _, seen := s.shown[task.GetTitle()]; !seen {
			s.shown[task.GetTitle()] = time.Now()
		}
	}
	if s.look != nil {
		s.look()
	}
	select {
	case s.news <- struct{}{}:
	default:
	}
	return nil
}

// await waits until a task is shown, and says when it was.
func (s *screen) await(title string, within time.Duration) time.Time {
	s.t.Helper()
	late := time.After(within)
	for {
		s.mu.Lock()
		at, shown := s.shown[title]
		s.mu.Unlock()
		if shown {
			return at
		}
		select {
		case <-s.news:
		case <-late:
			s.t.Fatalf("%q is not on the screen after %v", title, within)
		}
	}
}

// onDraw sets what is called with each picture.
func (s *screen) onDraw(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look = fn
}

// since is which requests came after a count, by the last part of their path.
func (n *network) since(before faultproxy.HTTPCounts) map[string]int {
	out := map[string]int{}
	for path, times := range n.http.Counts().Paths {
		if d := times - before.Paths[path]; d > 0 {
			out[filepath.Base(path)] = d
		}
	}
	return out
}

// same compares counts of requests.
func same(t *testing.T, what string, got, want map[string]int) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
