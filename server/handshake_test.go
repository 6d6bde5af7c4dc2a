package server_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// dialPort opens a connection that says nothing yet.
func dialPort(t *testing.T, s *running) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.Addr().String())
	check(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Peers that never go on with their handshake hold up neither others nor the
// end of the server, and are closed after a while.
func TestHandshake_StalledPeers(t *testing.T) {
	t.Parallel()
	s := start(t, transports(t)[3].options...)
	waitFor(t, s)
	var stalled []net.Conn
	for range 50 {
		conn := dialPort(t, s)
		_, err := conn.Write([]byte{0x16, 0x03, 0x01}) // the beginning of a hello
		check(t, err)
		stalled = append(stalled, conn)
	}
	began := time.Now()
	secure := tls.Client(dialPort(t, s), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	check(t, secure.HandshakeContext(t.Context()))
	if got := secure.ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Errorf("negotiated %q", got)
	}
	waitFor(t, s)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("behind stalled handshakes another takes %v", took)
	}
	check(t, stalled[0].SetReadDeadline(time.Now().Add(15*time.Second)))
	if _, err := stalled[0].Read(make([]byte, 1)); err == nil {
		t.Error("the server speaks first")
	} else if wait, ok := err.(net.Error); ok && wait.Timeout() {
		t.Error("a stalled handshake is never ended")
	}
	late := dialPort(t, s)
	began = time.Now()
	check(t, s.stop())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a stalled handshake holds up the end for %v", took)
	}
	if _, err := late.Read(make([]byte, 1)); err == nil {
		t.Error("a handshake outlived the server")
	}
}

// Whoever speaks plain HTTP to a TLS port is told so.
func TestHandshake_PlainHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, transports(t)[3].options...)
	waitFor(t, s)
	client := httpClient(t, func(p *http.Protocols) { p.SetHTTP1(true) }, nil)
	answer, err := client.Get("http://" + s.Addr().String() + "/healthz")
	check(t, err)
	text, err := io.ReadAll(answer.Body)
	check(t, err)
	check(t, answer.Body.Close())
	if answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "HTTPS") {
		t.Errorf("%d %s", answer.StatusCode, text)
	}
}
