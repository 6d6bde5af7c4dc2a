package server

import (
	"net"
	"net/http"
	"sync"
)

// unused are connections that have not sent a request yet. Clients keep some in
// stock; http.Server.Shutdown waits five seconds for each, in case one is about
// to speak. A server that is going away tells them by closing.
type unused struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newUnused() *unused { return &unused{conns: map[net.Conn]struct{}{}} }

// observe is a ConnState hook.
func (u *unused) observe(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state == http.StateNew {
		u.conns[c] = struct{}{}
		return
	}
	delete(u.conns, c)
}

// close closes those that are left. The listener is closed before, so no more
// come.
func (u *unused) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
}
