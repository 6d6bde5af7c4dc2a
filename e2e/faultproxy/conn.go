package faultproxy

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// conn is one connection. It is carried by two goroutines in each direction, one
// that reads and one that writes when the time of what was read has come.
type conn struct {
	proxy  *Proxy
	number int
	near   net.Conn

	mu    sync.Mutex
	far   net.Conn // nil before the server was reached, and in a black hole
	fault Fault
	// passed counts bytes of the server since the fault was set.
	passed int64
	// told: the fault was counted.
	told bool
	// heard is when bytes passed last.
	heard time.Time
	// changed is closed when another fault is set.
	changed chan struct{}
	// gone: an end is gone of which the other was not told.
	gone   bool
	closed bool
	done   chan struct{}
}

// run carries until both ends are closed.
func (c *conn) run() {
	defer c.over()
	if c.swallows() {
		c.tell()
		_, _ = io.Copy(io.Discard, c.near)
		c.ended()
		return
	}
	if !c.set(c.now()) { // what happens at once happens
		return
	}
	far, err := c.proxy.dial()
	if err != nil || !c.reached(far) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.carry(c.near, far, false) })
	both.Go(func() { c.carry(far, c.near, true) })
	both.Wait()
}

// swallows: it is a black hole before the server is asked for.
func (c *conn) swallows() bool {
	f := c.now()
	return f.Kind == BlackHole && f.After == 0
}

func (c *conn) now() Fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// reached keeps the server's end, unless all is over by now.
func (c *conn) reached(far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = far.Close()
		return false
	}
	c.far = far
	return true
}

// set begins a fault, and reports whether the connection is still there.
func (c *conn) set(f Fault) bool {
	c.mu.Lock()
	c.fault, c.passed, c.told, c.heard = f, 0, false, time.Now()
	if c.changed != nil {
		close(c.changed)
	}
	changed := make(chan struct{})
	c.changed = changed
	left := c.gone && f.Kind != HalfOpen && f.Kind != BlackHole
	if f.Kind == IdleCut && !c.closed {
		// Not closed, so run has not returned and the group waits for more.
		c.proxy.all.Go(func() { c.listen(f.idle(), changed) })
	}
	c.mu.Unlock()
	if left {
		c.over()
	}
	if f.cuts() && f.After == 0 {
		c.strike(f)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed
}

// listen cuts once nothing has passed for so long.
func (c *conn) listen(patience time.Duration, changed <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-changed:
			return
		case <-c.done:
			return
		}
		c.mu.Lock()
		left := patience - time.Since(c.heard)
		c.mu.Unlock()
		if left <= 0 {
			c.tell()
			c.over()
			return
		}
		timer.Reset(left)
	}
}

// tell counts the fault, once.
func (c *conn) tell() {
	c.mu.Lock()
	told, kind := c.told, c.fault.Kind
	c.told = true
	c.mu.Unlock()
	if !told {
		c.proxy.happened(kind)
	}
}

// strike lets a fault happen.
func (c *conn) strike(f Fault) {
	c.tell()
	switch f.Kind {
	case Reset:
		c.reset()
	case Truncate:
		c.over()
	default: // nothing passes any more, and nobody is told
	}
}

// reset closes so that both ends get an RST.
func (c *conn) reset() {
	c.mu.Lock()
	for _, end := range []net.Conn{c.near, c.far} {
		if t, ok := end.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
	}
	c.mu.Unlock()
	c.over()
}

// over closes both ends.
func (c *conn) over() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	close(c.done)
	_ = c.near.Close()
	if c.far != nil {
		_ = c.far.Close()
	}
}

// chunk is some bytes and when they arrive.
type chunk struct {
	data []byte
	due  time.Time
}

// carry reads, while another goroutine writes, so that what is late does not
// make what follows later.
func (c *conn) carry(from, to net.Conn, down bool) {
	late := make(chan chunk, 256)
	var writing sync.WaitGroup
	writing.Go(func() { c.deliver(late, to, down) })
	defer writing.Wait()
	defer close(late)
	way := uint64(c.number) << 1
	if down {
		way |= 1
	}
	chance := rand.New(rand.NewPCG(c.proxy.seed, way))
	buffer := make([]byte, 32<<10)
	var last time.Time
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			due := c.due(chance)
			if due.Before(last) {
				due = last
			}
			last = due
			select {
			case late <- chunk{append([]byte(nil), buffer[:n]...), due}:
			case <-c.done:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *conn) due(chance *rand.Rand) time.Time {
	f := c.now()
	delay := time.Duration(f.LatencyMS) * time.Millisecond
	if f.JitterMS > 0 {
		delay += time.Duration(chance.Int64N(f.JitterMS*int64(time.Millisecond) + 1))
	}
	return time.Now().Add(delay)
}

// deliver writes what was read, and ends both ends when it is all written:
// unless nobody is to be told.
func (c *conn) deliver(late <-chan chunk, to net.Conn, down bool) {
	for ch := range late {
		if wait := time.Until(ch.due); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-c.done:
				timer.Stop()
			}
		}
		data, strikes, f := c.admit(ch.data, down)
		if len(data) > 0 {
			if _, err := to.Write(data); err != nil && !strikes {
				c.ended()
			}
		}
		if strikes {
			c.strike(f)
		}
	}
	c.ended()
}

// admit is how much of some bytes passes, and whether the fault happens then.
func (c *conn) admit(data []byte, down bool) (pass []byte, strikes bool, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.fault
	c.heard = time.Now()
	if !f.cuts() {
		return data, false, f
	}
	room := f.After - c.passed
	if !down {
		if room <= 0 {
			return nil, false, f
		}
		return data, false, f
	}
	strikes = int64(len(data)) >= room
	data = data[:min(int64(len(data)), max(room, 0))]
	c.passed += int64(len(data))
	return data, strikes, f
}

// ended hears that one end is gone. Where nobody is to be told, the other end
// stays until the proxy closes.
func (c *conn) ended() {
	c.mu.Lock()
	f := c.fault
	silent := (f.Kind == HalfOpen || f.Kind == BlackHole) && c.passed >= f.After
	c.gone = c.gone || silent
	c.mu.Unlock()
	if silent {
		<-c.done
		return
	}
	c.over()
}
