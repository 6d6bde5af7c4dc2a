package beckon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

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

// transport makes the way to the server, and the hold on its connections.
func (o Options) transport() (connect.Transport, connections, error) {
	if o.Transport != nil {
		return o.Transport, noConnections{}, nil
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
		connecthttp.WithCompressMinBytes(1024), connecthttp.WithReadMaxBytes(4<<20)), rt, nil
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
