package apns

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
)

// The inside is the point: whether a send waits cannot be seen from outside
// without watching a clock.
func TestSession_OneSendAtATimeUntilTheTokenWasAccepted(t *testing.T) {
	t.Parallel()
	s := newSession(Config{}, "https://127.0.0.1:1", providerToken{}, newDials(1))
	over, cancel := context.WithCancel(t.Context())
	cancel()

	leave, err := s.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.enter(over); err == nil {
		t.Error("a second send went onto a cold connection")
	}
	leave(false)
	leave, err = s.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.enter(over); err == nil {
		t.Error("a refused token opened the gate")
	}
	leave(true)
	if _, err := s.enter(over); err != nil {
		t.Errorf("a warm session made a send wait: %v", err)
	}
	s.forget(nil)
	leave, err = s.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.enter(over); err == nil {
		t.Error("the session stayed warm although its connection closed")
	}
	leave(true)
}

func TestSession_EndClosesConnectionsThatAreNotIdleYet(t *testing.T) {
	t.Parallel()
	s := newSession(Config{}, "https://127.0.0.1:1", providerToken{}, newDials(1))
	ours, theirs := net.Pipe()
	c := &trackedConn{Conn: tls.Client(ours, &tls.Config{ServerName: "x"}), session: s}
	s.conns[c] = struct{}{}
	s.end()
	if _, err := theirs.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
	if len(s.conns) != 0 {
		t.Error("the connection is still known")
	}
}
