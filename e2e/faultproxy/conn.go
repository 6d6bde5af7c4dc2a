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
	// passed counts bytes of the direction that the fault counts, since it was set.
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
		c.ended(Up)
		return
	}
	if !c.set(c.now()) { // what happens at once happens
		return
	}
	far, err := c.proxy.dial(c.proxy.ctx)
	if err != nil || !c.reached(far) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { c.carry(c.near, far, Up) })
	both.Go(func() { c.carry(far, c.near, Down) })
	both.Wait()
}

// swallows: it is a black hole before the server is asked for.
func (c *conn) swallows() bool {
	f := c.now()
	return f.Kind == BlackHole && f.After == 0 && f.Way == Both
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
		c.proxy.all.Go(func() { c.listen(f, changed) })
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
func (c *conn) listen(f Fault, changed <-chan struct{}) {
	patience := f.idle()
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
			if f.Silent {
				c.forget()
			} else {
				c.over()
			}
			return
		}
		timer.Reset(left)
	}
}

// forget lets nothing pass any more, as half_open does, once and without a word.
func (c *conn) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault.Kind == IdleCut {
		c.fault, c.passed = Fault{Kind: HalfOpen}, 0
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
func (c *conn) carry(from, to net.Conn, way Way) {
	late := make(chan chunk, 256)
	var writing sync.WaitGroup
	writing.Go(func() { c.deliver(late, to, way) })
	defer writing.Wait()
	defer close(late)
	number := uint64(c.number) << 1
	if way == Down {
		number |= 1
	}
	chance := rand.New(rand.NewPCG(c.proxy.seed, number))
	buffer := make([]byte, 32<<10)
	var last time.Time
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			due := c.due(chance, way)
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

func (c *conn) due(chance *rand.Rand, way Way) time.Time {
	f := c.now()
	if !f.about(way) {
		return time.Now()
	}
	delay := time.Duration(f.LatencyMS) * time.Millisecond
	if f.JitterMS > 0 {
		delay += time.Duration(chance.Int64N(f.JitterMS*int64(time.Millisecond) + 1))
	}
	return time.Now().Add(delay)
}

// deliver writes what was read, and ends both ends when it is all written:
// unless nobody is to be told.
func (c *conn) deliver(late <-chan chunk, to net.Conn, way Way) {
	for ch := range late {
		c.wait(time.Until(ch.due))
		data, strikes, f := c.admit(ch.data, way)
		if err := c.write(to, data, f, way); err != nil && !strikes {
			c.ended(way)
		}
		if strikes {
			c.strike(f)
		}
	}
	c.ended(way)
}

// wait returns after d, or when all is over.
func (c *conn) wait(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.done:
	}
}

// write takes as long as the bandwidth wants, in steps of a twentieth second.
func (c *conn) write(to net.Conn, data []byte, f Fault, way Way) error {
	rate := f.BytesPerSecond
	if !f.about(way) {
		rate = 0
	}
	for len(data) > 0 {
		n := len(data)
		if rate > 0 {
			n = int(min(int64(n), max(rate/20, 1)))
		}
		if _, err := to.Write(data[:n]); err != nil {
			return err
		}
		data = data[n:]
		if rate > 0 {
			c.wait(time.Duration(n) * time.Second / time.Duration(rate))
		}
	}
	return nil
}

// admit is how much of some bytes passes, and whether the fault happens then.
func (c *conn) admit(data []byte, way Way) (pass []byte, strikes bool, f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.fault
	c.heard = time.Now()
	if !f.cuts() {
		return data, false, f
	}
	room := f.After - c.passed
	if !f.counts(way) {
		if room <= 0 && !(f.Kind == BlackHole && f.Way != Both) {
			return nil, false, f
		}
		return data, false, f
	}
	strikes = int64(len(data)) >= room && !c.told
	data = data[:min(int64(len(data)), max(room, 0))]
	c.passed += int64(len(data))
	return data, strikes, f
}

// ended hears that one end is gone. Where nobody is to be told, the other end
// stays until the proxy closes.
func (c *conn) ended(way Way) {
	c.mu.Lock()
	f := c.fault
	silent := (f.Kind == HalfOpen || f.Kind == BlackHole) && c.passed >= f.After && f.about(way)
	c.gone = c.gone || silent
	c.mu.Unlock()
	if silent {
		<-c.done
		return
	}
	c.over()
}
