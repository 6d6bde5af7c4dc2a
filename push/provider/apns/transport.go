package apns

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/time/rate"
)

// exchange is what apns2 cannot carry: the exact body on the way out, the plain
// answer on the way back.
type exchange struct {
	body   []byte
	bearer string
	// wrote is set once the request may have reached Apple.
	wrote  atomic.Bool
	answer Answer
	// link is the connection it has room on, for the pool.
	link *link
}

type exchangeKey struct{}

// nowOrNever stands for an expiration of zero, which apns2 leaves out.
const nowOrNever = 1

// maxAnswer bounds what is read of an answer; Apple's are below 200 bytes.
const maxAnswer = 8 << 10

// transport sends what the exchange in the context says and keeps the answer in
// it. Embedding gives it CloseIdleConnections, which apns2 demands.
type transport struct {
	*http2.Transport
	pool *pool
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errNoExchange
	}
	defer t.pool.leave(x)
	req = req.Clone(req.Context())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(x.body))
	req.Header.Set("authorization", "bearer "+x.bearer)
	req.Header.Set("user-agent", "beckon")
	if req.Header.Get("apns-expiration") == strconv.Itoa(nowOrNever) {
		req.Header.Set("apns-expiration", "0")
	}
	res, err := t.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	// A body that breaks off does not change what the status says.
	raw, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	x.answer = Answer{
		Status:     res.StatusCode,
		Body:       raw,
		RetryAfter: res.Header.Get("Retry-After"),
		ID:         res.Header.Get("apns-id"),
	}
	// All of it was read: nothing is left that apns2 could misread.
	res.Body, res.ContentLength = http.NoBody, 0
	return res, nil
}

// newTransport dials through the session's pool. Strict streams: Apple admits one
// until the first valid token, and without it a burst would open a connection for
// each.
func newTransport(c Config, s *session) *transport {
	t := &http2.Transport{
		DisableCompression:         true,
		StrictMaxConcurrentStreams: true,
		ReadIdleTimeout:            c.ReadIdle,
		PingTimeout:                c.PingTimeout,
		WriteByteTimeout:           c.PingTimeout,
		IdleConnTimeout:            c.IdleClose,
	}
	p := &pool{session: s, transport: t}
	t.ConnPool = p
	return &transport{t, p}
}

const (
	dialTimeout  = 5 * time.Second
	tcpKeepAlive = 15 * time.Second
	// A host is dialed so many times at once and then so often. Apple names no
	// numbers.
	dialBurst = 10
	dialEvery = 3 * time.Second
)

// newDials paces the connections to one host.
func newDials(connections int) *rate.Limiter {
	return rate.NewLimiter(rate.Every(dialEvery), max(dialBurst, 2*connections))
}

var errNoHTTP2 = errors.New("apns: the host does not speak HTTP/2")

// dialFunc opens what TLS runs on.
type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialTLS connects and shakes hands, both within the time of one connect.
func dialTLS(ctx context.Context, dial dialFunc, addr string, cfg *tls.Config) (*tls.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	tc := tls.Client(conn, cfg)
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if tc.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		_ = tc.Close()
		return nil, errNoHTTP2
	}
	return tc, nil
}
