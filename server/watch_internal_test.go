package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/thread"
)

// pipes is a port without a network, so that time in a bubble can pass.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
	// silent: something between takes what the server sends and hands on
	// nothing, in neither direction.
	silent atomic.Bool
}

// swallowed is a connection that may fall silent.
type swallowed struct {
	net.Conn
	by *pipes
}

func (s swallowed) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	for err == nil && s.by.silent.Load() {
		n, err = s.Conn.Read(b)
	}
	return n, err
}

func (s swallowed) Write(b []byte) (int, error) {
	if s.by.silent.Load() {
		return len(b), nil
	}
	return s.Conn.Write(b)
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- swallowed{theirs, p}:
		return ours, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// bubbled is the server's own HTTP settings around its procedures, in a bubble.
type bubbled struct {
	*Server

	phone app.ClaimServerResult
	agent policy.Principal
	work  app.Held
	sync  beckonv1connect.SyncServiceClient
	// client calls with a credential.
	client func(token string) *connect.Client
	port   *pipes
	// at is where everything since the beginning is changes.
	at []*v1.At
}

func newBubbled(t *testing.T, choose func(*http.Protocols)) *bubbled {
	t.Helper()
	limits := policy.BenchLimits()
	cfg := Config{Config: config.Default(t.TempDir()), Engine: memstore.New(), Limits: &limits, InProcess: true}
	s, err := New(t.Context(), cfg)
	must(t, err)
	b := &bubbled{Server: s}
	b.settle(t)
	mux := http.NewServeMux()
	rpc.Mount(mux, s.rpc)
	base, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	hs, port := NewHTTP(base, false, mux), newPipes()
	b.port = port
	served := make(chan error, 1)
	go func() { served <- hs.Serve(port) }()
	protocols := new(http.Protocols)
	choose(protocols)
	tr := &http.Transport{Protocols: protocols, DialContext: port.dial}
	b.client = func(token string) *connect.Client {
		return connect.NewClient(connecthttp.NewTransport(&http.Client{Transport: tr}, "http://127.0.0.1:8420"),
			func(next connect.ClientFunc) connect.ClientFunc {
				return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
					if info, ok := connect.CallInfoForClientContext(ctx); ok {
						info.RequestHeader().Set("Authorization", "Bearer "+token)
					}
					return next(ctx, spec)
				}
			})
	}
	b.sync = beckonv1connect.NewSyncServiceClient(b.client(b.phone.Tokens.Access.Reveal()))
	t.Cleanup(func() {
		stop()
		tr.CloseIdleConnections()
		must(t, hs.Close())
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		must(t, s.close())
	})
	return b
}

// settle claims the server and lets an agent begin a task.
func (b *bubbled) settle(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	link, err := b.app.AddAccount(ctx, policy.Principal{Kind: policy.Operator})
	must(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	public, err := proof.MarshalPublicKey(&key.PublicKey)
	must(t, err)
	b.phone, err = b.app.ClaimServer(ctx, app.ClaimServer{Secret: link.Secret.Secret(), Device: app.NewDevice{
		Platform: store.PlatformIOS, Label: "Phone", PublicKey: public, Locale: "en",
	}})
	must(t, err)
	account, _ := store.AccountKey(b.phone.Account)
	me := policy.Principal{Kind: policy.Installation, Account: account, Installation: b.phone.Installation.ID}
	made, err := b.app.CreateAgent(ctx, me, app.CreateAgent{Key: "agent", Name: "Builder"})
	must(t, err)
	b.agent = policy.Principal{Kind: policy.Agent, Agent: made.Agent}
	task, err := b.app.CreateTask(ctx, b.agent, app.CreateTask{Key: "k", Title: "Work", Claim: &app.ClaimOptions{ID: "claim-id"}})
	must(t, err)
	b.work = app.Held{Task: task.Task.ID, Lease: task.Task.Lease.ID}
	page, err := b.app.Bootstrap(ctx, me, app.Bootstrap{Scope: changelog.ThreadScope(task.Task.Thread)})
	must(t, err)
	b.at = []*v1.At{{
		Scope:  &v1.Scope{Scope: &v1.Scope_ThreadId{ThreadId: task.Task.Thread}},
		Cursor: page.Cursor, Horizon: page.AsOf,
	}}
}

// talk lets the agent say so many megabytes.
func (b *bubbled) talk(t *testing.T, megabytes int) {
	t.Helper()
	noise := make([]byte, 12<<10) // nothing that compression would make small
	for i := range megabytes * 4 {
		var items []app.ItemDraft
		for n := range 16 {
			_, _ = rand.Read(noise)
			text := base64.StdEncoding.EncodeToString(noise) // 16 KiB
			items = append(items, app.ItemDraft{
				ClientID: fmt.Sprintf("%d-%d", i, n), Role: thread.RoleAgent, Kind: thread.Message, Parts: []thread.Part{{Text: text}},
			})
		}
		_, err := b.app.AppendItems(t.Context(), b.agent, app.AppendItems{Held: b.work, Items: items})
		must(t, err)
	}
}

func plainProtocols() map[string]func(*http.Protocols) {
	return map[string]func(*http.Protocols){
		"h1":  func(p *http.Protocols) { p.SetHTTP1(true) },
		"h2c": func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) },
	}
}

// discovery-service#118, cetusguard#288: no timeout of the server ends a stream.
func TestWatch_OutlivesEveryTimeout(t *testing.T) {
	t.Parallel()
	for name, choose := range plainProtocols() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBubbled(t, choose)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stream, err := b.sync.Watch(ctx, &v1.WatchRequest{At: b.at})
				must(t, err)
				beats := 0
				for began := time.Now(); time.Since(began) < 2*idleTimeout+time.Minute; {
					frame, err := stream.Receive()
					must(t, err)
					if frame.GetHeartbeat() != nil {
						beats++
					}
				}
				if beats < 8 {
					t.Errorf("%d beats in %v", beats, 2*idleTimeout+time.Minute)
				}
				b.talk(t, 1)
				if frame, err := stream.Receive(); err != nil || len(frame.GetDelta().GetChanges().GetPut()) == 0 {
					t.Errorf("at last %v, %v", frame, err)
				}
			})
		})
	}
}

// Where something between acknowledges for a peer that is gone, TCP is content
// with it. Pings go to the peer itself.
func TestWatch_ASilentPeerIsPinged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubbled(t, plainProtocols()["h2c"])
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stream, err := b.sync.Watch(ctx, &v1.WatchRequest{At: b.at})
		must(t, err)
		_, err = stream.Receive()
		must(t, err)
		synctest.Wait()
		b.port.silent.Store(true)
		time.Sleep(pingAfter + pingTimeout - time.Second)
		synctest.Wait()
		if n := b.app.OpenStreams(); n != 1 {
			t.Fatal("ended before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := b.app.OpenStreams(); n != 0 {
			t.Errorf("a peer that answers no ping holds the stream")
		}
	})
}

// mercure#805: a reader who stops reading holds a stream for the time of one
// frame and no longer, and the frames that it does read take no deadline along.
func TestWatch_AStalledReaderIsFreed(t *testing.T) {
	t.Parallel()
	for name, choose := range plainProtocols() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBubbled(t, choose)
				b.talk(t, 12) // more than any window
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stream, err := b.sync.Watch(ctx, &v1.WatchRequest{At: b.at})
				must(t, err)
				_, err = stream.Receive()
				must(t, err)
				synctest.Wait()
				if n := b.app.OpenStreams(); n != 1 {
					t.Fatalf("%d streams are open", n)
				}
				time.Sleep(10*time.Second - time.Millisecond)
				synctest.Wait()
				if n := b.app.OpenStreams(); n != 1 {
					t.Fatal("ended before its time")
				}
				time.Sleep(2 * time.Millisecond)
				synctest.Wait()
				if n := b.app.OpenStreams(); n != 0 {
					t.Fatal("a reader who does not read holds the stream")
				}
			})
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
