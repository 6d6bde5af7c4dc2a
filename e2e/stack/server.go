package stack

import (
	"net"
	"path/filepath"
	"testing"
)

// Server is a beckond on a data folder of its own, which outlives its process.
type Server struct {
	t       testing.TB
	bin     Binaries
	args    []string
	Data    string
	URL     string
	Process *Process
}

// NewServer prepares a server; Start runs it. The port stays the same over
// restarts, as it would for clients that have paired.
func NewServer(t testing.TB, bin Binaries, args ...string) *Server {
	t.Helper()
	address := freePort(t)
	data := filepath.Join(t.TempDir(), "data")
	return &Server{
		t: t, bin: bin, Data: data, URL: "http://" + address,
		args: append([]string{"serve", "--listen", address, "--data", data, "--admin-socket", filepath.Join(t.TempDir(), "a.sock")}, args...),
	}
}

// Start runs the server and returns once it serves. env may name a failpoint.
func (s *Server) Start(env ...string) {
	s.t.Helper()
	s.Process = Start(s.t, env, s.bin.Beckond, s.args...)
	s.Process.Expect(`"msg":"serving"`)
}

// Restart kills the server, if it still lives, and starts it again on the same
// data folder.
func (s *Server) Restart(env ...string) {
	s.t.Helper()
	s.Process.Kill()
	s.Start(env...)
}

// ClaimLink is the link that a server without an owner printed.
func (s *Server) ClaimLink() string {
	s.t.Helper()
	return s.Process.Expect(`(http://\S+/claim#\S+)`)[1]
}

// freePort finds a port that nobody listens on. Another process could take it
// before the server does; the server then says so and the test fails.
func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
