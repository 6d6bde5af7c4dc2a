package fcm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// exchange is what the kit cannot carry: the token on the way out, the plain
// answer on the way back.
type exchange struct {
	bearer string
	// started is set once the kit has let the message through, wrote once the
	// request may have reached FCM.
	started atomic.Bool
	wrote   atomic.Bool
	// answer has status 0 while there is none.
	answer Answer
}

type exchangeKey struct{}

// Statuses of ours, which the kit does not repeat: it does so after 503 and
// after any error of the connection.
const (
	statusUnavailable = 598
	statusNoAnswer    = 599
)

// maxAnswer bounds what is read of an answer; FCM's are below 2 kB.
const maxAnswer = 64 << 10

// transport sends with the token of the exchange in the context and keeps the
// answer in it. The connections are its own.
type transport struct {
	base    *http.Transport
	connect func(ctx context.Context, network, addr string) (net.Conn, error)

	mu    sync.Mutex
	conns map[*trackedConn]struct{}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("fcm: request without an exchange")
	}
	x.started.Store(true)
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }})
	sent := req.Clone(ctx)
	sent.Header.Set("Authorization", "Bearer "+x.bearer)
	sent.Header.Set("User-Agent", "beckon")
	res, err := t.base.RoundTrip(sent)
	if err != nil {
		return synthetic(req, statusNoAnswer, nil), nil //nolint:nilerr // an error would be repeated by the kit
	}
	raw, broken := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	if broken != nil && res.StatusCode >= 300 {
		// A refusal that breaks off does not say what was refused. A success
		// that breaks off is one.
		return synthetic(req, statusNoAnswer, nil), nil
	}
	x.answer = Answer{Status: res.StatusCode, Body: raw, RetryAfter: res.Header.Get("Retry-After")}
	status := res.StatusCode
	if status == http.StatusServiceUnavailable {
		status = statusUnavailable
	}
	return synthetic(req, status, raw), nil
}

// synthetic is the answer for the kit, all of it in memory.
func synthetic(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

const (
	dialTimeout  = 5 * time.Second
	tcpKeepAlive = 15 * time.Second
)

func newTransport(c Config) *transport {
	t := &transport{connect: c.Dial, conns: make(map[*trackedConn]struct{})}
	t.base = &http.Transport{
		DialContext:         t.dial,
		TLSClientConfig:     &tls.Config{RootCAs: c.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxConnsPerHost:     c.Connections,
		MaxIdleConnsPerHost: c.Connections,
		IdleConnTimeout:     c.IdleClose,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: c.ReadIdle, PingTimeout: c.PingTimeout, WriteByteTimeout: c.PingTimeout},
	}
	return t
}

// trackedConn tells its transport when it is closed, whoever closes it.
type trackedConn struct {
	net.Conn
	owner *transport
}

func (c *trackedConn) Close() error {
	c.owner.mu.Lock()
	delete(c.owner.conns, c)
	c.owner.mu.Unlock()
	return c.Conn.Close()
}

func (t *transport) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := t.connect(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := &trackedConn{Conn: conn, owner: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns[c] = struct{}{}
	return c, nil
}

// close says goodbye on the idle connections and just closes those whose last
// exchange is still being cleaned up.
func (t *transport) close() {
	t.base.CloseIdleConnections()
	t.mu.Lock()
	left := make([]*trackedConn, 0, len(t.conns))
	for c := range t.conns {
		left = append(left, c)
	}
	t.mu.Unlock()
	for _, c := range left {
		_ = c.Close()
	}
}
