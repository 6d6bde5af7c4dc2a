package apns

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sideshow/apns2"
	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// session is one provider token with the connections that see it.
type session struct {
	token  providerToken
	client *apns2.Client
	// warm: the open connection has accepted the token and admits many streams.
	warm atomic.Bool
	// gate lets one send at a time onto a cold connection.
	gate chan struct{}
	// answers counts what came back, to tell a silent connection from a slow
	// answer.
	answers atomic.Uint64
	// dials paces new connections to the host, of all its sessions together.
	dials       *rate.Limiter
	dialer      dialFunc
	now         func() time.Time
	tls         *tls.Config
	pingTimeout time.Duration

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
	ended bool

	// users and retired belong to the slot's lock.
	users   int
	retired bool
}

func newSession(c Config, host string, token providerToken, dials *rate.Limiter) *session {
	s := &session{
		token: token, gate: make(chan struct{}, 1), conns: make(map[*trackedConn]struct{}),
		dials: dials, dialer: c.Dial, now: c.Now, pingTimeout: c.PingTimeout,
		tls: &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12, NextProtos: []string{http2.NextProtoTLS}},
	}
	s.client = &apns2.Client{
		Host: host,
		HTTPClient: &http.Client{
			Transport:     newTransport(c, s),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	return s
}

// enter admits a send: at once on a warm session, one by one on a cold one.
// leave must be called with whether the token was accepted.
func (s *session) enter(ctx context.Context) (leave func(accepted bool), err error) {
	free := func(bool) {}
	if s.warm.Load() {
		return free, nil
	}
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.warm.Load() {
		<-s.gate
		return free, nil
	}
	return func(accepted bool) {
		if accepted {
			s.warm.Store(true)
		}
		<-s.gate
	}, nil
}

// trackedConn tells its session when it is closed, whoever closes it.
type trackedConn struct {
	*tls.Conn
	session *session
}

func (c *trackedConn) Close() error {
	c.session.forget(c)
	return c.Conn.Close()
}

func (s *session) dial(ctx context.Context, addr string) (net.Conn, error) {
	if err := s.pace(ctx); err != nil {
		return nil, err
	}
	s.warm.Store(false)
	cfg := s.tls.Clone()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		cfg.ServerName = host
	}
	tc, err := dialTLS(ctx, s.dialer, addr, cfg)
	if err != nil {
		return nil, err
	}
	c := &trackedConn{Conn: tc, session: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		_ = tc.Close()
		return nil, net.ErrClosed
	}
	s.conns[c] = struct{}{}
	return c, nil
}

// pace waits until the host may be dialed again. A send whose time is over before
// then hears so at once.
func (s *session) pace(ctx context.Context) error {
	now := s.now()
	r := s.dials.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		r.CancelAt(now)
		return tooSoonError{wait}
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		r.CancelAt(s.now())
		return ctx.Err()
	}
}

func (s *session) forget(c *trackedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.warm.Store(false)
}

// end closes the session's connections. Nobody is sending on it.
func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	left := make([]*trackedConn, 0, len(s.conns))
	for c := range s.conns {
		left = append(left, c)
	}
	s.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
}
