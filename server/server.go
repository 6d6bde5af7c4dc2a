package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/server/admin"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/httpapi"
	"github.com/beckon-dev/beckon/server/maintenance"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

const (
	// drain is how long calls may take to end once the server is going away.
	drain = 5 * time.Second
	// farewell is how long watchers may take to hear of it.
	farewell = time.Second
)

// Server is one running server. New opens it, Run serves until its context
// ends and closes it.
type Server struct {
	cfg   Config
	store *store.Store
	blobs store.Blobs
	app   *app.App
	rpc   *connect.Server
	lanes *lanes
	log   *slog.Logger
	// bolt and journal are those of the data folder; nil with an engine that was
	// handed in.
	bolt    *boltstore.Engine
	journal *journal.Journal
	// counted are the metrics.
	counted *metrics

	http    *http.Server
	unused  *unused
	port    net.Listener
	admin   *http.Server
	socket  net.Listener
	url     string
	leaving atomic.Bool
	// certificates is the pair of the port; empty without TLS.
	certificates []tls.Certificate
	// stop ends every call with the error that says why.
	stop context.CancelCauseFunc
}

// Run opens a server and serves until ctx ends. A nil error means that it was
// told to stop and everything it had begun has ended.
func Run(ctx context.Context, cfg Config) error {
	s, err := New(ctx, cfg)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// New opens certificate, keys, store, port and socket. Nothing is served before
// Run, but connections are taken by the port already. What whoever starts it can
// repair is a StartError.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Server{cfg: cfg, lanes: &lanes{}, log: cfg.Log}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	if !s.cfg.InProcess {
		var err error
		if s.certificates, err = loadCertificate(s.cfg.Config); err != nil {
			return err
		}
	}
	keys, err := openKeys(s.cfg)
	if err != nil {
		return dataError(s.cfg.Data, err)
	}
	if err := unfinishedRestore(s.cfg.Data); err != nil {
		return dataError(s.cfg.Data, err)
	}
	s.counted = newMetrics(func() int { return s.app.OpenStreams() }, func() uint64 { return s.store.EpochNumber() }, s.lanes)
	if err = s.openStore(ctx, keys); err != nil {
		return dataError(s.cfg.Data, err)
	}
	if s.blobs, err = openBlobs(s.cfg); err != nil {
		return dataError(s.cfg.Data, err)
	}
	issuer, err := newIssuer(s.cfg, s.store, keys)
	if err != nil {
		return err
	}
	s.app = app.New(app.Config{
		Store: s.store, Blobs: s.blobs, Keys: keys, Tokens: auth.NewGrants(issuer), Limits: *s.cfg.Limits,
		Apps: pushApps(s.cfg.Config), Clock: s.cfg.Clock, WakePush: s.lanes.wake,
		PushPaused: s.lanes.paused, Journal: s.revocations(), BeginEpoch: s.beginEpoch, Alarm: s.alarm,
	})
	if err := s.lanes.open(ctx, s.cfg.Config, s.app.Outbox(), s.log); err != nil {
		return err
	}
	doorkeeper := auth.NewAuthenticator(issuer, s.app)
	rates := rpc.NewRates(*s.cfg.Limits, s.cfg.Clock)
	s.rpc, err = rpc.NewServer(rpc.Config{
		App: s.app, Auth: doorkeeper, Table: policy.Table(), Rates: rates,
		Log: s.log, LogKey: logKey(keys), Observe: s.counted.observe,
	})
	if err != nil || s.cfg.InProcess {
		return err
	}
	mux := http.NewServeMux()
	rpc.Mount(mux, s.rpc)
	httpapi.Mount(mux, httpapi.Config{
		Answer: s.app, Taps: doorkeeper, Describe: rpc.Describe, Slow: rates.Source,
		Metrics: s.counted.registry, Ready: s.ready, PermitKeys: issuer.PermitKeys(),
	})
	return s.listen(ctx, mux)
}

// listen opens port and socket.
func (s *Server) listen(ctx context.Context, mux http.Handler) error {
	var err error
	if s.port, err = listen(ctx, s.cfg.Listen); err != nil {
		return listenError(s.cfg.Listen, err)
	}
	s.url = urlOf(s.cfg.Config, s.port.Addr())
	var base context.Context
	base, s.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	s.http = NewHTTP(base, s.cfg.TLS(), limitBody(guard(mux, s.url)))
	if s.cfg.TLS() {
		s.http.TLSConfig.Certificates = s.certificates
		s.port = shakeHands(s.port, s.http.TLSConfig)
	}
	s.unused = newUnused()
	s.http.ConnState = s.unused.observe
	if s.socket, err = admin.Listen(ctx, s.cfg.Socket()); err != nil {
		return socketError(s.cfg.Socket(), err)
	}
	s.admin = &http.Server{
		Handler: admin.Handler(s.app, s.url, s.backup), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
	return nil
}

// URL is how clients reach the server; empty in process.
func (s *Server) URL() string { return s.url }

// Addr is where the port listens; nil in process.
func (s *Server) Addr() net.Addr {
	if s.port == nil {
		return nil
	}
	return s.port.Addr()
}

// App is the verbs, for callers in the same process.
func (s *Server) App() *app.App { return s.app }

// RPC is the dispatcher with all its interceptors, for the in-process
// transport.
func (s *Server) RPC() *connect.Server { return s.rpc }

// ready reports whether the server should get traffic.
func (s *Server) ready(ctx context.Context) error {
	if s.leaving.Load() {
		return errors.New("server: going away")
	}
	_, err := s.store.Accounts(ctx, 1)
	return err
}

// Run serves until ctx ends, lets calls end, waits for everything it started
// and closes the store. Call it once.
func (s *Server) Run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.begin(ctx); err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil // told to end before it served anybody: an end like any other
		}
		return err
	}
	loops, stopLoops := context.WithCancel(context.WithoutCancel(ctx))
	defer stopLoops()
	var running sync.WaitGroup
	defer running.Wait()
	defer stopLoops()
	running.Go(func() { maintenance.Due(loops, s.app, s.app.Hub(), app.TopicDue, s.log) })
	running.Go(func() { maintenance.Forget(loops, s.app, s.log) })
	running.Go(func() { maintenance.Sweep(loops, s.app, s.log, s.counted.foundStuck) })
	running.Go(func() { maintenance.Artifacts(loops, s.app, s.log) })
	for _, w := range s.lanes.workers {
		running.Go(func() { w.Run(loops) })
	}
	if s.cfg.InProcess {
		<-ctx.Done()
		s.goAway(ctx)
		return nil
	}
	return s.serve(ctx)
}

// begin does what has to be done before anybody is answered.
func (s *Server) begin(ctx context.Context) error {
	settled, err := s.app.SettleRestore(ctx)
	if err != nil {
		return fmt.Errorf("after a restore: %w", err)
	}
	if settled > 0 {
		s.log.WarnContext(ctx, "restored from a backup: tasks are held, and their people asked", slog.String("kind", "restore"))
	}
	if err := s.app.CatchUpJournal(ctx); err != nil {
		return err
	}
	if err := s.lanes.recover(ctx); err != nil {
		return err
	}
	return s.printClaim(ctx)
}

// serve answers the port and the socket until ctx ends or one of them fails.
func (s *Server) serve(ctx context.Context) error {
	failed := make(chan error, 2)
	var serving sync.WaitGroup
	serving.Go(func() { failed <- s.http.Serve(s.port) })
	serving.Go(func() { failed <- s.admin.Serve(s.socket) })
	s.log.InfoContext(ctx, "serving", slog.String("listen", s.port.Addr().String()))
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.leaving.Store(true)
	s.goAway(ctx)
	// Long polls, and watchers that read nothing, end with this error; without
	// it Shutdown would wait for them.
	s.stop(connect.NewError(connect.CodeUnavailable, "going away"))
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	_ = s.port.Close() // no more come; Shutdown closes it once more
	s.unused.close()
	if s.http.Shutdown(within) != nil {
		err = errors.Join(err, s.http.Close())
	}
	if s.admin.Shutdown(within) != nil {
		err = errors.Join(err, s.admin.Close())
	}
	serving.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// goAway tells watchers when to come back. Those who do not read it in time end
// with everybody else.
func (s *Server) goAway(ctx context.Context) {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = s.app.GoAway(within)
}

// printClaim shows the way in to whoever started a server without an owner. It
// goes to the terminal and never to the log.
func (s *Server) printClaim(ctx context.Context) error {
	if s.cfg.InProcess || s.app.Claimed(ctx) {
		return nil
	}
	made, err := s.app.CreateClaimLink(ctx, policy.Principal{Kind: policy.Operator}, app.CreateClaimLink{})
	if err != nil {
		return fmt.Errorf("claim link: %w", err)
	}
	link := admin.LinkOf(made, s.url)
	_, err = fmt.Fprintf(s.cfg.Terminal, "This server has no owner yet. Claim it within %s:\n\n  %s\n\n"+
		"On the terminal that is to be its first device:\n\n  beckon claim '%s'\n\n", s.cfg.Limits.ClaimLife, link.URL, link.URL)
	return err
}

// close ends what was opened; all of it may be missing.
func (s *Server) close() error {
	var err error
	if s.stop != nil {
		s.stop(nil)
	}
	for _, l := range []net.Listener{s.port, s.socket} {
		if l == nil {
			continue
		}
		if e := l.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = errors.Join(err, e)
		}
	}
	s.lanes.close()
	if s.store != nil {
		err = errors.Join(err, s.store.Close())
	}
	if s.journal != nil {
		err = errors.Join(err, s.journal.Close())
	}
	return err
}
