package beckon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
)

var (
	// ErrInsecure is returned for a plain http:// server on another machine:
	// credentials would travel in clear.
	ErrInsecure = errors.New("beckon: http:// is for this machine only, use https://")
	// ErrServer is returned for a server address that is no URL, or none at all.
	ErrServer = errors.New("beckon: not the address of a server")
	// ErrCA is returned for a CA file without a certificate.
	ErrCA = errors.New("beckon: no certificate in the CA file")
)

// Options say how a server is reached.
type Options struct {
	// Server is its base URL: https://, or http:// on this machine.
	Server string
	// CAFile holds PEM certificates to trust instead of the system's.
	CAFile string
	// Transport replaces the network, for tests and programs that embed the
	// server. Server and CAFile are then not looked at.
	Transport connect.Transport
	// Retry says how calls are repeated; the zero value is a good default.
	Retry Retry
}

// NormalizeServer is the one spelling of a server's base URL. Errors:
// [ErrServer], [ErrInsecure].
func NormalizeServer(server string) (string, error) {
	server = strings.TrimSpace(server)
	if !strings.Contains(server, "://") {
		return "", unschemed(server)
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", ErrServer
	}
	switch u.Scheme {
	case "https":
	case "http":
		if !loopback(u.Hostname()) {
			return "", ErrInsecure
		}
	default:
		return "", ErrServer
	}
	return u.Scheme + "://" + u.Host + strings.TrimRight(u.Path, "/"), nil
}

// unschemed helps somebody who typed a host alone.
func unschemed(server string) error {
	u, err := url.Parse("//" + server)
	if err != nil || u.Host == "" || u.User != nil {
		return ErrServer
	}
	scheme := "https"
	if loopback(u.Hostname()) {
		scheme = "http"
	}
	return fmt.Errorf("%w: did you mean %s://%s ?", ErrServer, scheme, u.Host)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// transport makes the way to the server, and how to give its connections back.
func (o Options) transport() (connect.Transport, func(), error) {
	if o.Transport != nil {
		return o.Transport, func() {}, nil
	}
	base, err := NormalizeServer(o.Server)
	if err != nil {
		return nil, nil, err
	}
	var config *tls.Config
	if o.CAFile != "" {
		if config, err = trust(o.CAFile); err != nil {
			return nil, nil, err
		}
	}
	rt := newRoundTripper(base, config)
	client := &http.Client{Transport: rt, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a credential goes to the named server only
	}}
	return connecthttp.NewTransport(client, base,
		connecthttp.WithCompressMinBytes(1024), connecthttp.WithReadMaxBytes(4<<20)), rt.close, nil
}

func trust(file string) (*tls.Config, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("beckon: CA file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, ErrCA
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, nil
}

// roundTripper speaks HTTP/2 where the server does and HTTP/1.1 elsewhere.
// Under TLS the handshake tells. In plain text a probe without a body does:
// trying the real call in HTTP/2 first and again in HTTP/1.1 could run it twice.
type roundTripper struct {
	base   string
	h1, h2 *http.Transport // h2 is nil under TLS

	mu     sync.Mutex
	chosen *http.Transport
}

func newRoundTripper(base string, config *tls.Config) *roundTripper {
	rt := &roundTripper{base: base, h1: newTransport(config)}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if strings.HasPrefix(base, "https:") {
		protocols.SetHTTP2(true)
		rt.chosen = rt.h1
	} else {
		plain := new(http.Protocols)
		plain.SetUnencryptedHTTP2(true)
		rt.h2 = newTransport(nil)
		rt.h2.Protocols = plain
	}
	rt.h1.Protocols = protocols
	return rt
}

// newTransport notices a vanished server by pings; deadlines of calls do the
// rest.
func newTransport(config *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 8,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
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

func (rt *roundTripper) choose(ctx context.Context) (*http.Transport, error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.chosen != nil {
		return rt.chosen, nil
	}
	probe, err := http.NewRequestWithContext(ctx, http.MethodHead, rt.base+"/", nil)
	if err != nil {
		return nil, err
	}
	res, err := rt.h2.RoundTrip(probe)
	if err == nil {
		_ = res.Body.Close()
		rt.chosen = rt.h2
		return rt.chosen, nil
	}
	if neverSent(err) || ctx.Err() != nil {
		return nil, err // nobody there: learn it next time
	}
	rt.chosen = rt.h1
	return rt.chosen, nil
}

func (rt *roundTripper) close() {
	rt.h1.CloseIdleConnections()
	if rt.h2 != nil {
		rt.h2.CloseIdleConnections()
	}
}

// neverSent reports that a call has not left this machine.
func neverSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}
