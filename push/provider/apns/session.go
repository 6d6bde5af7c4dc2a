package apns

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/sideshow/apns2"
)

// session is one provider token with the connections that see it.
type session struct {
	token  providerToken
	client *apns2.Client
	// warm: the open connection has accepted the token and admits many streams.
	warm atomic.Bool
	// gate lets one send at a time onto a cold connection.
	gate chan struct{}

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
	ended bool

	// users and retired belong to the slot's lock.
	users   int
	retired bool
}

func newSession(c Config, host string, token providerToken) *session {
	s := &session{token: token, gate: make(chan struct{}, 1), conns: make(map[*trackedConn]struct{})}
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

func (s *session) dial(ctx context.Context, dial dialFunc, addr string, cfg *tls.Config) (net.Conn, error) {
	s.warm.Store(false)
	tc, err := dialTLS(ctx, dial, addr, cfg)
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

func (s *session) forget(c *trackedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.warm.Store(false)
}

// end closes the session's connections. Nobody is sending on it, so the idle
// ones say goodbye properly; one whose last stream is still being cleaned up
// is just closed.
func (s *session) end() {
	s.client.CloseIdleConnections()
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
