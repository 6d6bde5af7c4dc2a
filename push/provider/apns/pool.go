package apns

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http2"
)

// errNoPing answers a connection that came about and then said nothing.
var errNoPing = errors.New("apns: a new connection does not answer")

// tooSoonError answers a connection that would follow too many others; Apple treats
// rapid reconnection as an attack.
type tooSoonError struct{ wait time.Duration }

func (e tooSoonError) Error() string {
	return fmt.Sprintf("apns: the next connection may be opened in %v", e.wait)
}

// pool gives a session's requests its one connection, as many at a time as Apple
// admits, and replaces it once it takes no more of them:
//
//	request ─► room on the connection ─► the transport ─► leave ─► the next request
//	           ├ none: waits here, bound to no connection
//	           └ none usable: one request opens it, all others wait
//
// It stands in for the transport's own pool, which notes every request that waits
// for a stream as if it had one: as soon as as many wait as the peer admits, none of
// them ever goes out. It also binds all of them to the connection, so that GOAWAY
// counts as a failure of requests that were never sent. The transport still goes by
// the peer's limit, so what got through before the limit fell waits there.
type pool struct {
	session   *session
	transport *http2.Transport

	mu      sync.Mutex
	current *link
	opening *opening
	waiting []chan struct{} // for room, first come first served; closed to wake
}

// link is a connection with what the pool knows of it, under the pool's lock.
type link struct {
	conn  *http2.ClientConn
	using int
	limit int // what the peer admitted when it was last looked at
}

// opening is a connection on its way, for all who wait for it.
type opening struct {
	done chan struct{}
	// err is set before done is closed; nil also when who opened it ran out of
	// time, for others have some left.
	err error
}

var _ http2.ClientConnPool = (*pool)(nil)

var errNoExchange = errors.New("apns: request without an exchange")

// GetClientConn is asked before each try of a request. The transport tries again
// only what the peer has not looked at, so nothing of an earlier try has reached
// Apple.
func (p *pool) GetClientConn(req *http.Request, addr string) (*http2.ClientConn, error) {
	ctx := req.Context()
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errNoExchange
	}
	p.leave(x)
	x.wrote.Store(false)
	for woken := false; ; {
		cc, wait, o := p.enter(x, woken)
		var err error
		switch {
		case cc != nil:
			return cc, nil
		case wait != nil:
			err = p.await(ctx, wait)
			woken = true
		case o != nil:
			err = o.await(ctx)
		default:
			err = p.open(ctx, addr)
		}
		if err != nil {
			return nil, err
		}
	}
}

// enter gives a request the connection, or what it has to wait for: room, or a
// connection on its way. Neither means that the request has to open one. Who was
// woken goes before those who still wait, everybody else behind them.
func (p *pool) enter(x *exchange, woken bool) (cc *http2.ClientConn, wait chan struct{}, o *opening) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.current
	switch {
	case l == nil || !l.conn.CanTakeNewRequest():
		if o = p.opening; o == nil {
			p.opening = &opening{done: make(chan struct{})}
		}
		return nil, nil, o
	case l.using >= l.limit || !woken && len(p.waiting) > 0:
		wait = make(chan struct{})
		at := len(p.waiting)
		if woken {
			at = 0
		}
		p.waiting = slices.Insert(p.waiting, at, wait)
		return nil, wait, nil
	}
	l.using++
	x.link = l
	if l.using < l.limit {
		p.wake()
	}
	return l.conn, nil, nil
}

// leave gives the room of a request back. The peer may have changed its limit; it
// is looked at here because only the end of a request makes room.
func (p *pool) leave(x *exchange) {
	l := x.link
	if l == nil {
		return
	}
	x.link = nil
	limit := l.admitted()
	p.mu.Lock()
	defer p.mu.Unlock()
	l.using--
	l.limit = limit
	p.wake()
}

// admitted is at least one: the transport keeps a request that may not go out yet.
func (l *link) admitted() int { return max(int(l.conn.State().MaxConcurrentStreams), 1) }

// wake lets the next request look again; when it finds room it wakes the one behind
// it. The lock is held.
func (p *pool) wake() {
	if len(p.waiting) > 0 {
		close(p.waiting[0])
		p.waiting = p.waiting[1:]
	}
}

func (p *pool) await(ctx context.Context, wait chan struct{}) error {
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.waiting, wait); at >= 0 {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	} else {
		p.wake() // it was this one's turn
	}
	return ctx.Err()
}

func (o *opening) await(ctx context.Context) error {
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return o.err
}

// open makes the connection that enter asked for.
func (p *pool) open(ctx context.Context, addr string) error {
	cc, err := p.connect(ctx, addr)
	var l *link
	if err == nil {
		l = &link{conn: cc}
		l.limit = l.admitted()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.current = l
	}
	if ctx.Err() == nil {
		p.opening.err = err
	}
	close(p.opening.done)
	p.opening = nil
	p.wake()
	return err
}

// connect returns a connection that was seen to be alive and whose limits are
// known: the peer's settings come ahead of its answer to a ping.
func (p *pool) connect(ctx context.Context, addr string) (*http2.ClientConn, error) {
	nc, err := p.session.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	cc, err := p.transport.NewClientConn(nc)
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	pinging, cancel := context.WithTimeout(ctx, p.session.pingTimeout)
	defer cancel()
	if err := cc.Ping(pinging); err != nil {
		_ = cc.Close()
		return nil, fmt.Errorf("%w: %w", errNoPing, err)
	}
	return cc, nil
}

// MarkDead is told of connections that take no more requests.
func (p *pool) MarkDead(cc *http2.ClientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil && p.current.conn == cc {
		p.current = nil
		p.wake() // to open the next one, though answers may still come on this one
	}
}
