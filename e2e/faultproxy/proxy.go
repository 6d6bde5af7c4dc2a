package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"time"
)

// dialTime bounds reaching the server.
const dialTime = 5 * time.Second

// Counts is what a [Proxy] has seen.
type Counts struct {
	// Accepted connections since the start, and those that are open.
	Accepted int `json:"accepted"`
	Open     int `json:"open"`
	// Happened counts connections to which a fault has happened, by its kind.
	Happened map[Kind]int `json:"happened"`
}

// Proxy carries TCP connections to one server. It is safe for concurrent use.
type Proxy struct {
	addr string
	dial func(context.Context) (net.Conn, error)
	// again opens the port once more; nil where it was handed in.
	again func() (net.Listener, error)
	seed  uint64
	ctx   context.Context //nolint:containedctx // it is the proxy's own end
	end   context.CancelFunc
	all   sync.WaitGroup

	mu     sync.Mutex
	port   net.Listener // nil while nobody listens
	usual  Fault
	next   []Fault
	conns  map[*conn]struct{}
	counts Counts
	// moved is closed and replaced whenever the counts change.
	moved chan struct{}
}

// Listen opens a port on address that leads to the server, a host with its port.
func Listen(ctx context.Context, address, server string, seed uint64) (*Proxy, error) {
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	p := Serve(ctx, port, func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{Timeout: dialTime}).DialContext(ctx, "tcp", server)
	}, seed)
	p.again = func() (net.Listener, error) { return (&net.ListenConfig{}).Listen(p.ctx, "tcp", p.addr) }
	return p, nil
}

// Serve carries connections from a port that it closes to wherever dial leads:
// over a network in memory, for instance.
func Serve(ctx context.Context, port net.Listener, dial func(context.Context) (net.Conn, error), seed uint64) *Proxy {
	p := &Proxy{
		port: port, addr: port.Addr().String(), dial: dial, seed: seed, conns: map[*conn]struct{}{},
		counts: Counts{Happened: map[Kind]int{}}, moved: make(chan struct{}),
	}
	p.ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
	p.all.Go(func() { p.accept(port) })
	return p
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.addr }

// Refuse lets nobody listen, or somebody again on the same port, which another
// program could have taken meanwhile. What is open stays. A port that was handed
// to [Serve] cannot be left and taken again.
func (p *Proxy) Refuse(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ctx.Err() != nil || on == (p.port == nil):
		return nil
	case p.again == nil:
		return errors.New("faultproxy: the port is not its own")
	case on:
		err := p.port.Close()
		p.port = nil
		return err
	}
	port, err := p.again()
	if err != nil {
		return fmt.Errorf("faultproxy: %w", err)
	}
	p.port = port
	p.all.Go(func() { p.accept(port) })
	return nil
}

// Close ends every connection and waits for all of it.
func (p *Proxy) Close() error {
	p.end()
	var err error
	p.mu.Lock()
	if p.port != nil {
		err = p.port.Close()
	}
	p.mu.Unlock()
	for _, c := range p.open() {
		c.over()
	}
	p.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Next says what becomes of the next new connections, one each, in order.
func (p *Proxy) Next(faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = append(p.next, faults...)
}

// All says what becomes of every new connection that no Next is for.
func (p *Proxy) All(f Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usual = f
}

// Now does something to every open connection; bytes count from here.
func (p *Proxy) Now(f Fault) {
	for _, c := range p.open() {
		c.set(f)
	}
}

// Clear forgets what is to become of new connections.
func (p *Proxy) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usual, p.next = Fault{}, nil
}

// Counts is what has been seen until now.
func (p *Proxy) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counted()
}

func (p *Proxy) counted() Counts {
	c := p.counts
	c.Open, c.Happened = len(p.conns), maps.Clone(c.Happened)
	return c
}

// Await returns once ok says so of the counts, or with the error of ctx.
func (p *Proxy) Await(ctx context.Context, ok func(Counts) bool) error {
	for {
		p.mu.Lock()
		good, moved := ok(p.counted()), p.moved
		p.mu.Unlock()
		if good {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change is the one way to touch what is counted.
func (p *Proxy) change(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn()
	close(p.moved)
	p.moved = make(chan struct{})
}

func (p *Proxy) happened(k Kind) { p.change(func() { p.counts.Happened[k]++ }) }

func (p *Proxy) open() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		out = append(out, c)
	}
	return out
}

func (p *Proxy) accept(port net.Listener) {
	for {
		near, err := port.Accept()
		if err != nil {
			return
		}
		c := &conn{proxy: p, near: near, done: make(chan struct{})}
		p.change(func() {
			c.number = p.counts.Accepted
			p.counts.Accepted++
			c.fault = p.usual
			if len(p.next) > 0 {
				c.fault, p.next = p.next[0], p.next[1:]
			}
			p.conns[c] = struct{}{}
		})
		if p.ctx.Err() != nil {
			c.over() // Close may have looked before it was there
		}
		p.all.Go(func() {
			c.run()
			p.change(func() { delete(p.conns, c) })
		})
	}
}
