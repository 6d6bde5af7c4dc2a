package faultproxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// HTTPConfig is what an [HTTP] stands before and how it is reached.
type HTTPConfig struct {
	// Server is the base URL: https://, or http:// of a server that also speaks
	// HTTP/2 in plain text.
	Server string
	// Roots are who signs for the server; nil is the system's.
	Roots *x509.CertPool
	// Certificate ends TLS here; nil is plain text.
	Certificate *tls.Certificate
	// Seed decides what is random.
	Seed uint64
}

// HTTPCounts is what an [HTTP] has seen.
type HTTPCounts struct {
	// Requests that came, and what the server got of them, copies included.
	Requests int `json:"requests"`
	Sent     int `json:"sent"`
	// Inserted answers, dropped ones and buffered ones.
	Inserted int `json:"inserted"`
	Dropped  int `json:"dropped"`
	Buffered int `json:"buffered"`
	// Replayed answers came from the cache.
	Replayed int `json:"replayed"`
	// Truncated answers were to be cut in their body.
	Truncated int `json:"truncated"`
	// Paths are the requests by their path.
	Paths map[string]int `json:"paths"`
	// HTTP1 and HTTP2 are the requests by what the client spoke.
	HTTP1 int `json:"http1"`
	HTTP2 int `json:"http2"`
}

// HTTP is a reverse proxy that misbehaves. It is safe for concurrent use.
type HTTP struct {
	cfg     HTTPConfig
	port    net.Listener
	doors   [2]*door // for both protocols, and for HTTP/1.1 alone
	ways    [2]*http.Transport
	all     sync.WaitGroup
	servers [2]*http.Server

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup
	http1  bool
	rules  []Rule
	seen   map[string]uint64 // requests by path
	kept   map[string]kept
	counts HTTPCounts
}

// ListenHTTP opens a port on address before a server.
func ListenHTTP(ctx context.Context, address string, cfg HTTPConfig) (*HTTP, error) {
	server, err := url.Parse(cfg.Server)
	if err != nil || server.Host == "" {
		return nil, fmt.Errorf("faultproxy: %q is no URL of a server", cfg.Server)
	}
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	h := &HTTP{cfg: cfg, port: port, seen: map[string]uint64{}, kept: map[string]kept{}, counts: HTTPCounts{Paths: map[string]int{}}}
	silent := slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport:     h,
		FlushInterval: -1,
		ErrorLog:      silent,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errDropped) {
				panic(http.ErrAbortHandler) // ends the connection, or the stream of HTTP/2
			}
			http.Error(w, "the server behind is not there", http.StatusBadGateway)
		},
	}
	handler := h.waitedFor(proxy)
	for i := range h.doors {
		h.doors[i] = newDoor(port.Addr())
		h.ways[i] = &http.Transport{Protocols: speaks(i, server.Scheme == "https"), TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12}}
		h.servers[i] = &http.Server{Handler: handler, Protocols: takes(i, cfg.Certificate != nil), ErrorLog: silent}
		h.all.Go(func() { h.serve(i) })
	}
	h.all.Go(h.accept)
	return h, nil
}

// waitedFor makes a handler that Close waits for.
func (h *HTTP) waitedFor(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		if h.closed {
			h.mu.Unlock()
			return
		}
		h.busy.Add(1)
		h.mu.Unlock()
		defer h.busy.Done()
		next.ServeHTTP(w, r)
	})
}

// only1 is the index of what speaks HTTP/1.1 alone.
const only1 = 1

// speaks is what is spoken with the server, in one way or the other.
func speaks(i int, secure bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(i == only1 || secure)
	p.SetHTTP2(i != only1 && secure)
	p.SetUnencryptedHTTP2(i != only1 && !secure)
	return p
}

// takes is what clients may speak.
func takes(i int, secure bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(true)
	p.SetHTTP2(i != only1 && secure)
	p.SetUnencryptedHTTP2(i != only1 && !secure)
	return p
}

func (h *HTTP) serve(i int) {
	s := h.servers[i]
	if h.cfg.Certificate == nil {
		_ = s.Serve(h.doors[i])
		return
	}
	s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*h.cfg.Certificate}, MinVersion: tls.VersionTLS12}
	_ = s.ServeTLS(h.doors[i], "", "")
}

func (h *HTTP) accept() {
	for {
		c, err := h.port.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		i := 0
		if h.http1 {
			i = only1
		}
		h.mu.Unlock()
		h.doors[i].take(c)
	}
}

// URL is how clients reach it.
func (h *HTTP) URL() string {
	if h.cfg.Certificate == nil {
		return "http://" + h.Addr()
	}
	return "https://" + h.Addr()
}

// Addr is where it listens.
func (h *HTTP) Addr() string { return h.port.Addr().String() }

// Downgrade lets new connections speak HTTP/1.1 alone, and speaks it alone with
// the server for them, or no more.
func (h *HTTP) Downgrade(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.http1 = on
}

// Rules replaces the rules; none lets everything pass.
func (h *HTTP) Rules(rules ...Rule) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = append([]Rule(nil), rules...)
}

// Counts is what has been seen until now.
func (h *HTTP) Counts() HTTPCounts {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.counts
	c.Paths = maps.Clone(c.Paths)
	return c
}

// Close ends every connection and waits for all of it.
func (h *HTTP) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	err := h.port.Close()
	for i, s := range h.servers {
		err = errors.Join(err, s.Close(), h.doors[i].Close())
	}
	h.all.Wait()
	h.busy.Wait()
	for _, way := range h.ways {
		way.CloseIdleConnections()
	}
	return ignoreClosed(err)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// door is a listener that others feed.
type door struct {
	at     net.Addr
	coming chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newDoor(at net.Addr) *door {
	return &door{at: at, coming: make(chan net.Conn), closed: make(chan struct{})}
}

func (d *door) take(c net.Conn) {
	select {
	case d.coming <- c:
	case <-d.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.coming:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr implements net.Listener.
func (d *door) Addr() net.Addr { return d.at }

// read takes a whole body.
func read(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	return data, errors.Join(err, body.Close())
}
