package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
)

// handshakes is a TLS port that shakes hands before the HTTP server sees a
// connection. Left to the HTTP server, a handshake runs on the goroutine that
// serves the connection and grows its stack for good: 9 KiB for each stream that
// is open for hours. A peer that does not go on with its handshake holds up
// nobody else.
type handshakes struct {
	net.Listener

	config *tls.Config
	// accepted are connections whose handshake is over.
	accepted chan accepted
	// ctx ends when the port is closed, and running with it.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

// accepted is what Accept returns.
type accepted struct {
	conn net.Conn
	err  error
}

// shakeHands begins to accept. The configuration names certificates and
// protocols; the HTTP server may change its own meanwhile.
func shakeHands(port net.Listener, config *tls.Config) *handshakes {
	h := &handshakes{Listener: port, config: config.Clone(), accepted: make(chan accepted)}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.running.Go(h.accept)
	return h
}

// Accept implements net.Listener. A failed handshake is no error of it: the
// connection is handed over all the same, and the HTTP server, which meets the
// same error at once, says what it has to say and closes it.
func (h *handshakes) Accept() (net.Conn, error) {
	select {
	case a := <-h.accepted:
		return a.conn, a.err
	case <-h.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener; it also ends the handshakes that are under way
// and waits for them.
func (h *handshakes) Close() error {
	h.stop()
	err := h.Listener.Close()
	h.running.Wait()
	return err
}

// accept takes connections until the port is closed. Whoever reads the errors
// decides how long to wait before the next try.
func (h *handshakes) accept() {
	for h.ctx.Err() == nil {
		conn, err := h.Listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			h.handOver(accepted{err: err})
		default:
			h.running.Go(func() { h.shake(conn) })
		}
	}
}

// shake gives one handshake its time.
func (h *handshakes) shake(conn net.Conn) {
	ctx, cancel := context.WithTimeout(h.ctx, headerTimeout)
	defer cancel()
	secure := tls.Server(conn, h.config)
	_ = secure.HandshakeContext(ctx) // see Accept
	if !h.handOver(accepted{conn: secure}) {
		_ = conn.Close()
	}
}

// handOver reports whether somebody took it.
func (h *handshakes) handOver(a accepted) bool {
	select {
	case h.accepted <- a:
		return true
	case <-h.ctx.Done():
		return false
	}
}
