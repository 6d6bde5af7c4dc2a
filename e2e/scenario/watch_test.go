package scenario_test

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// proxy is a way to a server that can fall silent without closing.
type proxy struct {
	t      *testing.T
	port   net.Listener
	server string

	mu    sync.Mutex
	conns []net.Conn
	hung  []*atomic.Bool // one for each way that was opened
	all   sync.WaitGroup
}

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	port, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, port: port, server: strings.TrimPrefix(server, "http://")}
	p.all.Go(p.accept)
	t.Cleanup(func() {
		_ = port.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.all.Wait()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.port.Addr().String() }

func (p *proxy) accept() {
	for {
		near, err := p.port.Accept()
		if err != nil {
			return
		}
		far, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.server)
		if err != nil {
			_ = near.Close()
			continue
		}
		hung := &atomic.Bool{}
		p.mu.Lock()
		p.conns, p.hung = append(p.conns, near, far), append(p.hung, hung)
		p.mu.Unlock()
		p.all.Go(func() { p.carry(near, far, hung) })
		p.all.Go(func() { p.carry(far, near, hung) })
	}
}

// hang lets every connection there is carry nothing any more. New ones do.
func (p *proxy) hang() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.hung {
		h.Store(true)
	}
}

// carry copies, and swallows everything once it hangs.
func (p *proxy) carry(from, to net.Conn, hung *atomic.Bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		switch {
		case hung.Load():
			if err != nil {
				return
			}
		case err != nil:
			_ = to.Close()
			return
		default:
			if _, err := to.Write(buffer[:n]); err != nil {
				_ = from.Close()
				return
			}
		}
	}
}

// screen is an inbox that follows, and what it has shown.
type screen struct {
	t     *testing.T
	mu    sync.Mutex
	shown map[string]bool
	news  chan struct{}
}

// follow shows a person's inbox until the test ends.
func follow(t *testing.T, p *beckon.Person) *screen {
	t.Helper()
	s := &screen{t: t, shown: map[string]bool{}, news: make(chan struct{}, 1)}
	inbox := p.Inbox()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- inbox.Follow(ctx, func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, task := range inbox.Tasks() {
				s.shown[task.GetTitle()] = true
			}
			select {
			case s.news <- struct{}{}:
			default:
			}
			return nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error("Follow ended with", err)
		}
	})
	return s
}

// await waits until a task is shown.
func (s *screen) await(title string, within time.Duration) {
	s.t.Helper()
	late := time.After(within)
	for {
		s.mu.Lock()
		shown := s.shown[title]
		s.mu.Unlock()
		if shown {
			return
		}
		select {
		case <-s.news:
		case <-late:
			s.t.Fatalf("%q is not on the screen after %v", title, within)
		}
	}
}

// watched is a server with a person and an agent, and no phones. The arguments
// are for the server.
func watched(t *testing.T, args ...string) *house {
	t.Helper()
	h := &house{t: t, server: stack.NewServer(t, built(t), args...)}
	h.server.Start()
	profile := filepath.Join(t.TempDir(), "owner.json")
	owner, err := beckon.Claim(h.ctx(), profile, h.server.ClaimLink(), beckon.Device{Label: "laptop"}, beckon.Options{})
	h.check(err)
	t.Cleanup(owner.Close)
	h.owner = owner
	made, err := owner.Agents.CreateAgent(h.ctx(), &v1.CreateAgentRequest{IdempotencyKey: "agent", Name: "Builder"})
	h.check(err)
	issued, err := owner.Agents.IssueKey(h.ctx(), &v1.IssueKeyRequest{AgentId: made.GetLink().GetAgentId()})
	h.check(err)
	h.key = beckon.KeyFile{Server: h.server.URL, Key: issued.GetSecret()}
	h.agent = h.newAgent()
	return h
}

// A server that is stopped or killed under a watcher costs it nothing but the
// time: each change is shown, and nothing is read from the start again.
func TestWatch_ServerRestarts(t *testing.T) {
	t.Parallel()
	h := watched(t)
	s := follow(t, h.owner)
	h.started("before")
	s.await("before", 10*time.Second)
	const bootstrap = "SyncService/Bootstrap"
	if !strings.Contains(h.server.Process.Output(), bootstrap) {
		t.Fatal("the log does not show a bootstrap")
	}
	h.server.Stop()
	h.server.Start()
	h.started("after a stop")
	s.await("after a stop", 20*time.Second)
	stopped := h.server.Process.Output()
	h.server.Restart()
	h.started("after a kill")
	s.await("after a kill", 20*time.Second)
	if strings.Contains(stopped+h.server.Process.Output(), bootstrap) {
		t.Error("the watcher started over")
	}
}

// grpc-swift#1590, pouchdb#8192: a connection that carries nothing any more, and
// does not say so, is left within 2.2 beats, of at most 30 s.
func TestWatch_HalfOpen(t *testing.T) {
	t.Parallel()
	h := watched(t)
	p := newProxy(t, h.server.URL)
	offer, err := h.owner.OfferPairing(h.ctx())
	h.check(err)
	joining, err := beckon.Redeem(h.ctx(), filepath.Join(t.TempDir(), "second.json"), beckon.Invitation{Code: offer.Code},
		beckon.Device{Label: "second"}, beckon.Options{Server: p.url()})
	h.check(err)
	h.check1(offer.Redeemed(h.ctx()))
	h.check1(offer.Confirm(h.ctx(), joining.Digits()))
	second, err := joining.Wait(h.ctx())
	h.check(err)
	t.Cleanup(second.Close)
	s := follow(t, second)
	h.started("before")
	s.await("before", 10*time.Second)
	p.hang()
	h.started("while it hangs") // its frame is what the old connection swallows
	s.await("while it hangs", 66*time.Second)
}
