package beckon

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// connections is the hold on what is open to a server.
type connections interface {
	// close gives those back that carry nothing.
	close()
	// drop leaves all of them at once, whatever they carry.
	drop()
}

// noConnections is for a transport that was handed in.
type noConnections struct{}

func (noConnections) close() {}
func (noConnections) drop()  {}

// roundTripper speaks HTTP/2 where the server does and HTTP/1.1 elsewhere.
// Under TLS the handshake tells. In plain text a probe without a body does:
// trying the real call in HTTP/2 first and again in HTTP/1.1 could run it twice.
type roundTripper struct {
	base   string
	config *tls.Config

	// probing is held while a server in plain text is asked what it speaks.
	probing sync.Mutex

	mu    sync.Mutex
	ways  *ways
	known bool // what the server speaks, and
	old   bool // that it is HTTP/1.1 alone
}

func newRoundTripper(base string, config *tls.Config) *roundTripper {
	secure := strings.HasPrefix(base, "https:")
	return &roundTripper{base: base, config: config, known: secure, old: secure, ways: newWays(secure, config)}
}

// ways are the connections to one server until they are dropped.
type ways struct {
	h1, h2 *http.Transport // under TLS h1 speaks both, and h2 is nil

	mu      sync.Mutex
	open    map[*line]struct{}
	dropped bool
}

func newWays(secure bool, config *tls.Config) *ways {
	w := &ways{open: map[*line]struct{}{}}
	w.h1 = w.transport(config)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(secure)
	w.h1.Protocols = protocols
	if !secure {
		plain := new(http.Protocols)
		plain.SetUnencryptedHTTP2(true)
		w.h2 = w.transport(nil)
		w.h2.Protocols = plain
	}
	return w
}

// transport notices a vanished server by pings; deadlines of calls do the rest.
func (w *ways) transport(config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         w.dial,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
}

func (w *ways) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l := &line{Conn: c, ways: w}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped {
		return nil, errors.Join(&net.OpError{Op: "dial", Net: network, Err: net.ErrClosed}, c.Close())
	}
	w.open[l] = struct{}{}
	return l, nil
}

// drop closes what is open and what is still being opened.
func (w *ways) drop() {
	w.mu.Lock()
	w.dropped = true
	open := w.open
	w.open = nil
	w.mu.Unlock()
	for l := range open {
		_ = l.Conn.Close()
	}
}

// line is one connection.
type line struct {
	net.Conn

	ways *ways
}

// Close implements net.Conn.
func (l *line) Close() error {
	l.ways.mu.Lock()
	delete(l.ways.open, l)
	l.ways.mu.Unlock()
	return l.Conn.Close()
}

// RoundTrip implements http.RoundTripper.
func (rt *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	chosen, err := rt.choose(req.Context())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return chosen.RoundTrip(req)
}

// chosen is the way to the server, where it is known what that speaks.
func (rt *roundTripper) chosen() (*ways, *http.Transport) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case !rt.known:
		return rt.ways, nil
	case rt.old:
		return rt.ways, rt.ways.h1
	default:
		return rt.ways, rt.ways.h2
	}
}

func (rt *roundTripper) choose(ctx context.Context) (*http.Transport, error) {
	if _, chosen := rt.chosen(); chosen != nil {
		return chosen, nil
	}
	rt.probing.Lock()
	defer rt.probing.Unlock()
	w, chosen := rt.chosen()
	if chosen != nil {
		return chosen, nil
	}
	probe, err := http.NewRequestWithContext(ctx, http.MethodHead, rt.base+"/", nil)
	if err != nil {
		return nil, err
	}
	res, err := w.h2.RoundTrip(probe)
	if err == nil {
		_ = res.Body.Close()
	} else if neverSent(err) || ctx.Err() != nil || w.isDropped() {
		return nil, err // nobody there: learn it next time
	}
	rt.mu.Lock()
	rt.known, rt.old = true, err != nil
	rt.mu.Unlock()
	_, chosen = rt.chosen()
	return chosen, nil
}

func (w *ways) isDropped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

func (rt *roundTripper) close() {
	w, _ := rt.chosen()
	w.close()
}

func (w *ways) close() {
	w.h1.CloseIdleConnections()
	if w.h2 != nil {
		w.h2.CloseIdleConnections()
	}
}

// drop makes new ways first, so that no call meets one that is being left.
func (rt *roundTripper) drop() {
	rt.mu.Lock()
	w := rt.ways
	rt.ways = newWays(w.h2 == nil, rt.config)
	rt.mu.Unlock()
	w.drop()
	w.close()
}

// neverSent reports that a call has not left this machine.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
