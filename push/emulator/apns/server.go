package apns

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/authority"
	"github.com/beckon-dev/beckon/push/emulator/journal"
	"github.com/beckon-dev/beckon/push/emulator/script"
)

// Env is one of Apple's two separate services; a device token is good in one.
type Env string

// The two environments: api.sandbox.push.apple.com and api.push.apple.com.
const (
	Sandbox    Env = "sandbox"
	Production Env = "production"
)

// Config is how an emulator is started. The zero value is usable.
type Config struct {
	// SandboxAddr and ProductionAddr are the two hosts' loopback addresses; ""
	// means a free port of 127.0.0.1.
	SandboxAddr, ProductionAddr string
	// Listen replaces the listening on an address, for networks that are none,
	// whose names stand for themselves; nil means TCP on loopback.
	Listen func(ctx context.Context, addr string) (net.Listener, error)
	// CACertFile and CAKeyFile name a CA in PEM form to sign the server
	// certificate; "" makes a new one.
	CACertFile, CAKeyFile string
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
	// Streams is how many streams a connection may open after its first valid
	// provider token; 0 means 1,000. Before, it is one.
	Streams uint32
	// Connects is how many connections an environment takes within a minute of Now
	// before it turns further ones away; 0 means 60, a negative number all. Apple
	// treats rapid connection and disconnection as an attack and names no number
	// ("Sending notification requests to APNs").
	Connects int
	// Lenient answers requests that only the emulator finds fault with as Apple
	// would, and writes the fault in the record.
	Lenient bool
	// Logger hears of the emulator's own life, never of pushes; nil for silence.
	Logger *slog.Logger
}

// ErrNotLoopback answers an address that other machines could reach: the emulator
// logs what it is sent.
var ErrNotLoopback = errors.New("apns: the address is not on loopback")

// Server is a running emulator. It is safe for concurrent use.
type Server struct {
	now     func() time.Time
	sleep   func(context.Context, time.Duration)
	lenient bool
	streams uint32
	log     *slog.Logger
	ca      *authority.Authority
	urls    map[Env]string
	records *journal.Journal[Record]
	script  script.Script[target, Fault, Record]

	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	keys    map[string]Key
	devices map[string]*registration
	conns   []*conn
	gate    map[Env]*gate
	ended   int           // connections
	endings chan struct{} // closed and made anew when ended grows
}

// Start opens both hosts and serves until ctx ends or Close is called; Close has
// to be called in either case. It fails on addresses and CA files only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{
		now: cfg.Now, sleep: cfg.Sleep, lenient: cfg.Lenient, log: cfg.Logger,
		streams: cmp.Or(cfg.Streams, allStreams),
		gate:    map[Env]*gate{Sandbox: {most: cfg.Connects}, Production: {most: cfg.Connects}},
		endings: make(chan struct{}),
		urls:    make(map[Env]string),
		records: journal.New[Record](cfg.Log, cfg.Keep),
		keys:    make(map[string]Key),
		devices: make(map[string]*registration),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sleep == nil {
		s.sleep = sleep
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	tlsConfig, err := s.certify(cfg)
	if err != nil {
		return nil, err
	}
	listeners, err := listen(ctx, cfg)
	if err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	for env, l := range listeners {
		s.urls[env] = "https://" + l.Addr().String()
		s.log.Info("apns emulator listens", "env", env, "url", s.urls[env])
	}
	for env, l := range listeners {
		s.running.Go(func() { s.accept(ctx, env, tls.NewListener(l, tlsConfig)) })
	}
	return s, nil
}

func (s *Server) certify(cfg Config) (*tls.Config, error) {
	var err error
	if cfg.CACertFile != "" || cfg.CAKeyFile != "" {
		s.ca, err = authority.Load(cfg.CACertFile, cfg.CAKeyFile)
	} else {
		s.ca, err = authority.New("APNs emulator CA")
	}
	if err != nil {
		return nil, err
	}
	return s.ca.ServerTLS([]string{"h2"}, "api.push.apple.com", "api.sandbox.push.apple.com", "api.development.push.apple.com")
}

// listen opens all addresses or none.
func listen(ctx context.Context, cfg Config) (map[Env]net.Listener, error) {
	if cfg.Listen == nil {
		cfg.Listen = listenTCP
	}
	open := make(map[Env]net.Listener)
	for env, addr := range map[Env]string{Sandbox: cfg.SandboxAddr, Production: cfg.ProductionAddr} {
		if addr == "" {
			addr = "127.0.0.1:0"
		}
		l, err := cfg.Listen(ctx, addr)
		if err != nil {
			for _, l := range open {
				_ = l.Close()
			}
			return nil, fmt.Errorf("apns: listen for %s on %s: %w", env, addr, err)
		}
		open[env] = l
	}
	return open, nil
}

// listenTCP listens where no other machine can reach it.
func listenTCP(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err == nil && !loopback(l.Addr()) {
		_ = l.Close()
		return nil, ErrNotLoopback
	}
	return l, err
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// accept serves one host and returns when its listener and all its connections are
// done.
func (s *Server) accept(ctx context.Context, env Env, l net.Listener) {
	unhook := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer unhook()
	for {
		nc, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil {
				s.log.Error("apns emulator stopped listening", "env", env, "error", err)
			}
			return
		}
		s.mu.Lock()
		c := newConn(s, env, len(s.conns)+1, nc.(*tls.Conn)) //nolint:forcetypeassert // a TLS listener gives nothing else
		c.turnedAway = !s.gate[env].admits(s.now())
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		if c.turnedAway {
			c.turnAway()
			continue
		}
		s.running.Go(func() { c.serve(ctx) })
	}
}

// Close breaks all connections, held requests included, and waits until nothing of
// the emulator runs. Phones are their owner's to close.
func (s *Server) Close() {
	s.stop()
	s.running.Wait()
}

// URL returns the base address of a host, such as "https://127.0.0.1:40123".
func (s *Server) URL(env Env) string { return s.urls[env] }

// CAPEM returns the certificate that a sender has to trust.
func (s *Server) CAPEM() []byte { return s.ca.PEM() }

// Log is the request log, with readers that block.
func (s *Server) Log() *journal.Journal[Record] { return s.records }

// Requests returns the requests so far, in the order of their verdicts.
func (s *Server) Requests() []Record { return s.records.All() }

// Wait blocks until at least n requests were judged and returns all of them.
func (s *Server) Wait(ctx context.Context, n int) ([]Record, error) { return s.records.Wait(ctx, n) }

// Connection is what the emulator knows of one connection.
type Connection struct {
	Number  int  `json:"number"`
	Env     Env  `json:"env"`
	Open    bool `json:"open"`
	Streams int  `json:"streams"` // open now
	Opened  int  `json:"opened"`  // all in all
	Refused int  `json:"refused"` // with REFUSED_STREAM for the limit
	// TurnedAway tells that it was closed before TLS, for coming too soon after too
	// many others.
	TurnedAway bool `json:"turned_away,omitempty"`
}

// Connections returns every connection since the start, closed ones included, by
// number from 1.
func (s *Server) Connections() []Connection {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	out := make([]Connection, 0, len(conns))
	for _, c := range conns {
		out = append(out, c.describe())
	}
	return out
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
