package stack

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Server is a beckond on a data folder of its own, which outlives its process.
type Server struct {
	t       testing.TB
	bin     Binaries
	args    []string
	socket  string
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
	socket := filepath.Join(t.TempDir(), "a.sock")
	return &Server{
		t: t, bin: bin, Data: data, URL: "http://" + address, socket: socket,
		args: append([]string{"serve", "--listen", address, "--data", data, "--admin-socket", socket}, args...),
	}
}

// Operator runs a line of an operator's shell in the folder that holds the data
// folder, and returns its process.
func (s *Server) Operator(line string, env ...string) *Process {
	s.t.Helper()
	env = append(env, "PATH="+filepath.Dir(s.bin.Beckond)+string(os.PathListSeparator)+os.Getenv("PATH"), "BECKON_ADMIN_SOCKET="+s.socket)
	return Start(s.t, env, "bash", "-euo", "pipefail", "-c", "cd '"+filepath.Dir(s.Data)+"' && "+line)
}

// Run starts the server and returns at once, whatever comes of it.
func (s *Server) Run() *Process {
	s.t.Helper()
	s.Process = Start(s.t, nil, s.bin.Beckond, s.args...)
	return s.Process
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

// Stop ends the server in order: what it has under way is finished and stored.
func (s *Server) Stop() {
	s.t.Helper()
	s.Process.Signal(syscall.SIGTERM)
	if code := s.Process.Wait(); code != 0 {
		s.t.Fatalf("the server ended with %d:\n%s", code, s.Process.Output())
	}
}

// ClaimLink is the link that a server without an owner printed.
func (s *Server) ClaimLink() string {
	s.t.Helper()
	return s.Process.Expect(`(http://\S+/claim#\S+)`)[1]
}

// freePort finds a port that nobody listens on, out of those that systems hand
// out by themselves: one of these could become the near end of somebody's
// connection while the server is down. Another process could still take it; the
// server then says so and the test fails.
func freePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(12000+rand.IntN(20000)))
		if l, err := net.Listen("tcp", address); err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
