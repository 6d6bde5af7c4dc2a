package outage

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Network carries bytes between listeners and those who dial them. A host that
// is dark takes everything and gives nothing back: connects hang, what is
// written is lost, nobody hears of a close.
type Network struct {
	mu    sync.Mutex
	hosts map[string]*listener
	dark  map[string]bool
	// changed is closed and replaced when a host goes dark or comes back.
	changed chan struct{}
	ends    map[*end]struct{}
	dials   int
}

// NewNetwork is one without hosts.
func NewNetwork() *Network {
	return &Network{
		hosts: map[string]*listener{}, dark: map[string]bool{}, changed: make(chan struct{}), ends: map[*end]struct{}{},
	}
}

// Listen opens a host under a name of its own.
func (n *Network) Listen(_ context.Context, _ string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &listener{
		network: n, name: address(fmt.Sprintf("127.0.0.1:%d", len(n.hosts)+1)),
		coming: make(chan net.Conn), closed: make(chan struct{}),
	}
	n.hosts[string(l.name)] = l
	return l, nil
}

// Dial connects to a host, and waits for as long as that is dark.
func (n *Network) Dial(ctx context.Context, _, addr string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	n.mu.Unlock()
	for {
		n.mu.Lock()
		l, dark, changed := n.hosts[addr], n.dark[addr], n.changed
		n.mu.Unlock()
		if l == nil {
			return nil, fmt.Errorf("outage: nobody listens on %s", addr)
		}
		if !dark {
			return l.connect(ctx)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Dark takes hosts out of reach, or brings them back.
func (n *Network) Dark(dark bool, hosts ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range hosts {
		n.dark[h] = dark
	}
	close(n.changed)
	n.changed = make(chan struct{})
	for e := range n.ends {
		e.wake()
	}
}

// Dials is how often somebody has tried to connect to any host.
func (n *Network) Dials() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

func (n *Network) isDark(host string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dark[host]
}

// pair makes the two ends of a connection to a host.
func (n *Network) pair(host string) (near, far *end) {
	near, far = newEnd(n, host), newEnd(n, host)
	near.peer, far.peer = far, near
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ends[near], n.ends[far] = struct{}{}, struct{}{}
	return near, far
}

func (n *Network) forget(e *end) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ends, e)
}

type address string

func (a address) Network() string { return "memory" }
func (a address) String() string  { return string(a) }

type listener struct {
	network *Network
	name    address
	coming  chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func (l *listener) connect(ctx context.Context) (net.Conn, error) {
	near, far := l.network.pair(string(l.name))
	select {
	case l.coming <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.coming:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.name }

// end is one end of a connection: what has come and was not read yet. Writing
// never waits, as into a socket with room.
type end struct {
	network *Network
	host    string
	peer    *end

	mu       sync.Mutex
	moved    *sync.Cond
	come     []byte
	over     bool // nothing more comes
	closed   bool // by its owner
	deadline time.Time
	alarm    *time.Timer
}

func newEnd(n *Network, host string) *end {
	e := &end{network: n, host: host}
	e.moved = sync.NewCond(&e.mu)
	return e
}

func (e *end) wake() { e.moved.Broadcast() }

func (e *end) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		late := !e.deadline.IsZero() && !time.Now().Before(e.deadline)
		switch {
		case e.closed:
			return 0, net.ErrClosed
		case late:
			return 0, os.ErrDeadlineExceeded
		case e.network.isDark(e.host):
		case len(e.come) > 0:
			n := copy(b, e.come)
			e.come = e.come[n:]
			return n, nil
		case e.over:
			return 0, io.EOF
		}
		e.moved.Wait()
	}
}

func (e *end) Write(b []byte) (int, error) {
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return 0, net.ErrClosed
	}
	if e.network.isDark(e.host) {
		return len(b), nil
	}
	p := e.peer
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	p.come = append(p.come, b...)
	p.moved.Broadcast()
	return len(b), nil
}

func (e *end) Close() error {
	e.mu.Lock()
	e.closed = true
	if e.alarm != nil {
		e.alarm.Stop()
	}
	e.moved.Broadcast()
	e.mu.Unlock()
	e.network.forget(e)
	e.peer.mu.Lock()
	defer e.peer.mu.Unlock()
	e.peer.over = true // seen once the host is in reach
	e.peer.moved.Broadcast()
	return nil
}

func (e *end) LocalAddr() net.Addr  { return address(e.host) }
func (e *end) RemoteAddr() net.Addr { return address(e.host) }

// SetDeadline is for reads; writes do not wait.
func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

// SetWriteDeadline has nothing to bound.
func (e *end) SetWriteDeadline(time.Time) error { return nil }

// SetReadDeadline ends a read that waits at t.
func (e *end) SetReadDeadline(t time.Time) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.deadline = t
	if e.alarm != nil {
		e.alarm.Stop()
		e.alarm = nil
	}
	if !t.IsZero() {
		e.alarm = time.AfterFunc(time.Until(t), e.wake)
	}
	e.moved.Broadcast()
	return nil
}
