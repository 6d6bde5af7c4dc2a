package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/e2e/faultproxy"
)

// memory is a host of a network without sockets.
type memory struct {
	coming chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newMemory() *memory { return &memory{coming: make(chan net.Conn), closed: make(chan struct{})} }

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.coming:
		return c, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m *memory) Close() error   { m.once.Do(func() { close(m.closed) }); return nil }
func (m *memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (m *memory) dial(context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m.coming <- far:
		return near, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

// bubbled is a connection through a proxy to an echo, in a bubble: its times are
// exact.
func bubbled(t *testing.T, f faultproxy.Fault) (*faultproxy.Proxy, net.Conn) {
	t.Helper()
	server, port := newMemory(), newMemory()
	var echoing sync.WaitGroup
	echoing.Go(func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.Copy(c, c)
		_ = c.Close()
	})
	p := faultproxy.Serve(t.Context(), port, server.dial, 1)
	p.All(f)
	c, err := port.dial(t.Context())
	check(t, err)
	t.Cleanup(func() {
		check(t, c.Close())
		check(t, p.Close())
		check(t, server.Close())
		echoing.Wait()
	})
	return p, c
}

func TestIdleCut_AMinuteByDefault(t *testing.T) {
	t.Parallel()
	for _, quiet := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, c := bubbled(t, faultproxy.Fault{Kind: faultproxy.IdleCut, Silent: quiet})
			time.Sleep(59 * time.Second)
			check(t, says(c, "just in time"))
			began := time.Now()
			check(t, c.SetReadDeadline(began.Add(5*time.Minute)))
			_, err := c.Read(make([]byte, 1))
			took := time.Since(began)
			if !quiet && (took != time.Minute || !errors.Is(err, io.EOF)) {
				t.Errorf("ended after %v with %v", took, err)
			}
			if quiet && took != 5*time.Minute {
				t.Errorf("forgotten, and told after %v: %v", took, err)
			}
			if got := p.Counts(); got.Happened[faultproxy.IdleCut] != 1 {
				t.Errorf("%+v", got)
			}
			if !quiet {
				return
			}
			_, err = io.WriteString(c, "into nothing")
			check(t, err)
			check(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
			if n, _ := c.Read(make([]byte, 1)); n != 0 {
				t.Error("what was forgotten answers")
			}
		})
	}
}

// trip is how long a word takes there and back.
func trip(t *testing.T, c net.Conn, word string) time.Duration {
	t.Helper()
	began := time.Now()
	check(t, says(c, word))
	return time.Since(began)
}

func TestLatency_IsOfItsWay(t *testing.T) {
	t.Parallel()
	for way, want := range map[faultproxy.Way]time.Duration{
		faultproxy.Both: 200 * time.Millisecond, faultproxy.Up: 100 * time.Millisecond, faultproxy.Down: 100 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			p, c := bubbled(t, faultproxy.Fault{LatencyMS: 100, Way: way})
			if took := trip(t, c, "slow"); took != want {
				t.Errorf("way %q took %v, want %v", way, took, want)
			}
			p.Now(faultproxy.Fault{})
			if took := trip(t, c, "fast"); took != 0 {
				t.Errorf("took %v without a fault", took)
			}
		})
	}
}

func TestBandwidth_IsKept(t *testing.T) {
	t.Parallel()
	for way, want := range map[faultproxy.Way]time.Duration{faultproxy.Down: 3 * time.Second, faultproxy.Both: 6 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			_, c := bubbled(t, faultproxy.Fault{BytesPerSecond: 1000, Way: way})
			var sending sync.WaitGroup
			sending.Go(func() { _, _ = io.WriteString(c, strings.Repeat("x", 3000)) })
			began := time.Now()
			_, err := io.ReadFull(c, make([]byte, 3000))
			check(t, err)
			sending.Wait()
			// The two ways overlap: the way back begins with the first step.
			if took := time.Since(began); took < 2900*time.Millisecond || took > want {
				t.Errorf("way %q: 3000 bytes took %v", way, took)
			}
		})
	}
}

// A black hole of one way swallows that one, and tells of closes the other way.
func TestBlackHole_OfOneWay(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	p.Next(faultproxy.Fault{Kind: faultproxy.BlackHole, Way: faultproxy.Down, After: 3})
	c := dial(t, p)
	_, err := io.WriteString(c, "12345")
	check(t, err)
	_, err = io.ReadFull(c, make([]byte, 3))
	check(t, err)
	silent(t, c)
	_, err = io.WriteString(c, "heard and not answered")
	check(t, err)
	silent(t, c)
	check(t, c.Close())
	select {
	case err := <-e.ends:
		check(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the server was not told of a close")
	}
	p.Next(faultproxy.Fault{Kind: faultproxy.BlackHole, Way: faultproxy.Up})
	c = dial(t, p)
	_, err = io.WriteString(c, "12345")
	check(t, err)
	silent(t, c)
	check(t, c.Close())
	select {
	case err := <-e.ends:
		t.Error("the server was told of a close:", err)
	case <-time.After(quiet):
	}
}

// Bytes of the client count for a fault of its way.
func TestReset_AfterBytesOfTheClient(t *testing.T) {
	t.Parallel()
	p, _ := between(t, 1)
	p.Next(faultproxy.Fault{Kind: faultproxy.Reset, Way: faultproxy.Up, After: 8})
	c := dial(t, p)
	check(t, says(c, "seven.."))
	if err := says(c, "eight"); !errors.Is(err, syscall.ECONNRESET) {
		t.Error("ended with", err)
	}
}

// Nobody listens, and then somebody does on the same port. What is open stays.
func TestRefuse(t *testing.T) {
	t.Parallel()
	p, _ := between(t, 1)
	open := dial(t, p)
	check(t, says(open, "before"))
	for range 2 {
		check(t, p.Refuse(true))
		if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Error("dialing gave", c, err)
		}
	}
	check(t, says(open, "during"))
	for range 2 {
		check(t, p.Refuse(false))
		check(t, says(dial(t, p), "after"))
	}
	check(t, p.Refuse(true)) // and is closed like that
}

func TestFault_CheckWays(t *testing.T) {
	t.Parallel()
	for _, f := range []faultproxy.Fault{
		{Way: "left"}, {Kind: faultproxy.HalfOpen, Way: faultproxy.Up}, {Kind: faultproxy.IdleCut, Way: faultproxy.Down},
		{Kind: faultproxy.Reset, Silent: true}, {BytesPerSecond: -1},
	} {
		if f.Check() == nil {
			t.Errorf("%+v makes sense", f)
		}
	}
}
