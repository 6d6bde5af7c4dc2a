package fcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/authority"
	"github.com/beckon-dev/beckon/push/emulator/journal"
	"github.com/beckon-dev/beckon/push/emulator/script"
)

// Config is how an emulator is started. The zero value is usable.
type Config struct {
	// Addr is the loopback address of both endpoints; "" means a free port of
	// 127.0.0.1.
	Addr string
	// Listen replaces the listening on Addr, for networks that are none, whose
	// names stand for themselves; nil means TCP on loopback.
	Listen func(ctx context.Context, addr string) (net.Listener, error)
	// CACertFile and CAKeyFile name a CA in PEM form to sign the server
	// certificate; "" makes a new one.
	CACertFile, CAKeyFile string
	// Project is the project that exists from the start; "" means DefaultProject.
	Project string
	// TokenLife is how long access tokens are good; 0 means Google's hour.
	TokenLife time.Duration
	// Now is the clock all rules go by; nil means time.Now. TLS goes by the
	// machine's clock.
	Now func() time.Time
	// Sleep waits for scripted delays; nil means a timer. It has to return when
	// ctx ends.
	Sleep func(ctx context.Context, d time.Duration)
	// Log gets one JSON line per request, payload and device token included; nil
	// for memory only.
	Log io.Writer
	// Keep bounds the requests held in memory; 0 keeps all.
	Keep int
	// Lenient answers requests that only the emulator finds fault with as Google
	// would, and writes the fault in the record.
	Lenient bool
	// Logger hears of the emulator's own life, never of messages; nil for silence.
	Logger *slog.Logger
}

// DefaultProject is the project of an emulator that was not told another.
const DefaultProject = "demo-project"

// maxStreams is how many requests a connection may have open, as seen at Google's
// servers (firebase/firebase-admin-node#2943).
const maxStreams = 100

// ErrNotLoopback answers an address that other machines could reach: the emulator
// logs what it is sent.
var ErrNotLoopback = errors.New("fcm: the address is not on loopback")

// Server is a running emulator. It is safe for concurrent use.
type Server struct {
	now     func() time.Time
	sleep   func(context.Context, time.Duration)
	life    time.Duration
	lenient bool
	log     *slog.Logger
	ca      *authority.Authority
	url     string
	project string
	records *journal.Journal[Record] // everything
	sends   *journal.Journal[Record] // messages:send only
	script  script.Script[target, Fault, Record]
	schema  *shape

	ctx     context.Context //nolint:containedctx // ends what is held or unanswered
	stop    context.CancelFunc
	http    *http.Server
	serving sync.WaitGroup // the listener
	running sync.WaitGroup // requests

	mu       sync.Mutex
	closed   bool
	projects map[string]bool
	accounts map[string]ServiceAccount // by email
	access   map[string]grant          // by access token
	devices  map[string]*address       // by token or FID
}

// Start listens and serves until ctx ends or Close is called; Close has to be
// called in either case. It fails on the address and on CA files only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{
		now: cfg.Now, sleep: cfg.Sleep, lenient: cfg.Lenient, log: cfg.Logger,
		life:     cmp.Or(cfg.TokenLife, time.Hour),
		project:  cmp.Or(cfg.Project, DefaultProject),
		records:  journal.New[Record](cfg.Log, cfg.Keep),
		sends:    journal.New[Record](nil, cfg.Keep),
		schema:   newSchema(),
		accounts: make(map[string]ServiceAccount),
		access:   make(map[string]grant),
		devices:  make(map[string]*address),
	}
	s.projects = map[string]bool{s.project: true}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sleep == nil {
		s.sleep = sleep
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if cfg.CACertFile != "" || cfg.CAKeyFile != "" {
		s.ca, err = authority.Load(cfg.CACertFile, cfg.CAKeyFile)
	} else {
		s.ca, err = authority.New("FCM emulator CA")
	}
	if err != nil {
		return nil, err
	}
	if err := s.listen(ctx, cfg); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Server) listen(ctx context.Context, cfg Config) error {
	config, err := s.ca.ServerTLS([]string{"h2", "http/1.1"}, "fcm.googleapis.com", "oauth2.googleapis.com")
	if err != nil {
		return err
	}
	if cfg.Listen == nil {
		cfg.Listen = listenTCP
	}
	l, err := cfg.Listen(ctx, cmp.Or(cfg.Addr, "127.0.0.1:0"))
	if err != nil {
		return fmt.Errorf("fcm: listen on %s: %w", cfg.Addr, err)
	}
	s.url = "https://" + l.Addr().String()
	s.ctx, s.stop = context.WithCancel(ctx)
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		TLSConfig:         config,
		ReadHeaderTimeout: time.Minute,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // clients that hang up are part of the tests
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	s.log.Info("fcm emulator listens", "url", s.url)
	unhook := context.AfterFunc(s.ctx, func() { _ = s.http.Close() }) //nolint:contextcheck // it is ctx with a cancel of its own
	s.serving.Go(func() {
		defer unhook()
		if err := s.http.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("fcm emulator stopped listening", "error", err)
		}
	})
	return nil
}

// listenTCP listens where no other machine can reach it.
func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		_ = l.Close()
		return nil, ErrNotLoopback
	}
	return l, nil
}

// connKey is where a request's context has its connection.
type connKey struct{}

// Close breaks all connections, held requests included, and waits until nothing of
// the emulator runs. Phones are their owner's to close.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	_ = s.http.Close()
	s.serving.Wait()
	s.running.Wait()
}

// enter counts a request in, unless the emulator is closing.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}

// URL returns the base address, such as "https://127.0.0.1:40123"; the endpoint
// option of a Google client is this with "/v1".
func (s *Server) URL() string { return s.url }

// TokenURL returns the address of the token endpoint, the token_uri of a service
// account.
func (s *Server) TokenURL() string { return s.url + tokenPath }

// CAPEM returns the certificate that a sender has to trust.
func (s *Server) CAPEM() []byte { return s.ca.PEM() }

// AddProject makes a further project exist.
func (s *Server) AddProject(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects[id] = true
}

// Log is the log of all requests, those for access tokens included, with readers
// that block.
func (s *Server) Log() *journal.Journal[Record] { return s.records }

// Requests returns the requests to send a message so far, in the order of their
// verdicts.
func (s *Server) Requests() []Record { return s.sends.All() }

// Wait blocks until at least n requests to send a message were judged and returns
// all of them.
func (s *Server) Wait(ctx context.Context, n int) ([]Record, error) { return s.sends.Wait(ctx, n) }

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
