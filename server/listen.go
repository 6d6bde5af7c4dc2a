package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/beckon-dev/beckon/server/config"
)

// A phone that vanishes sends nothing to notice it by. Three things find it
// together: keepalive while idle, TCP_USER_TIMEOUT while data is unacknowledged
// (which suspends keepalive), and HTTP/2 pings.
const (
	keepIdle     = 10 * time.Second
	keepInterval = 5 * time.Second
	keepCount    = 3
	unacked      = 15 * time.Second
	pingAfter    = 10 * time.Second
	pingTimeout  = 5 * time.Second

	headerTimeout = 5 * time.Second
	// readTimeout also bounds a body that never comes. Long polls outlive it:
	// it ends reading, not answering.
	readTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	headerBytes = 16 << 10
	streams     = 64
)

// listen opens the port.
func listen(ctx context.Context, address string) (net.Listener, error) {
	cfg := net.ListenConfig{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepInterval, Count: keepCount},
		Control:         userTimeout,
	}
	return cfg.Listen(ctx, "tcp", address)
}

// NewHTTP is the HTTP server of the port, with or without TLS. Requests live in
// base: when it ends, so do long polls. The public cases for the protocols are
// run against exactly this one.
func NewHTTP(base context.Context, secure bool, handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	if secure {
		protocols.SetHTTP2(true)
	} else {
		protocols.SetUnencryptedHTTP2(true)
	}
	return &http.Server{
		Handler: handler, Protocols: protocols,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, SendPingTimeout: pingAfter, PingTimeout: pingTimeout,
			WriteByteTimeout: 2 * readTimeout,
		},
		TLSConfig:   &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}},
		BaseContext: func(net.Listener) context.Context { return base },
		// Its lines hold addresses of callers.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
	}
}

// urlOf is how clients reach a server that was not told.
func urlOf(cfg config.Config, at net.Addr) string {
	if cfg.PublicURL != "" {
		return trimSlash(cfg.PublicURL)
	}
	if cfg.TLS() {
		return "https://" + at.String()
	}
	return "http://" + at.String()
}

func trimSlash(url string) string {
	if n := len(url); n > 0 && url[n-1] == '/' {
		return url[:n-1]
	}
	return url
}
