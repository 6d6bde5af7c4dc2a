package faultproxy_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/e2e/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that gives back what it gets.
type echo struct {
	net.Listener

	all   sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
	// ends gets how each connection ended.
	ends chan error
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	e := &echo{Listener: l, ends: make(chan error, 16)}
	e.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			e.mu.Lock()
			e.conns = append(e.conns, c)
			e.mu.Unlock()
			e.all.Go(func() {
				_, err := io.Copy(c, c)
				e.ends <- errors.Join(err, c.Close())
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		e.mu.Lock()
		for _, c := range e.conns {
			_ = c.Close()
		}
		e.mu.Unlock()
		e.all.Wait()
	})
	return e
}

// between is a proxy before an echo.
func between(t *testing.T, seed uint64) (*faultproxy.Proxy, *echo) {
	t.Helper()
	e := newEcho(t)
	p, err := faultproxy.Listen(t.Context(), "127.0.0.1:0", e.Addr().String(), seed)
	check(t, err)
	t.Cleanup(func() { check(t, p.Close()) })
	return p, e
}

func dial(t *testing.T, p *faultproxy.Proxy) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr())
	check(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// says sends a word and reads it back.
func says(c net.Conn, word string) error {
	if _, err := io.WriteString(c, word); err != nil {
		return err
	}
	got := make([]byte, len(word))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != word {
		return errors.New("came back as " + string(got))
	}
	return nil
}

// quiet is how long nothing must come where nothing passes.
const quiet = 100 * time.Millisecond

// silent checks that nothing comes and nothing ends.
func silent(t *testing.T, c net.Conn) {
	t.Helper()
	check(t, c.SetReadDeadline(time.Now().Add(quiet)))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %d, %v where nothing passes and nobody is told", n, err)
	}
	check(t, c.SetReadDeadline(time.Time{}))
}

func TestProxy_PassesEverything(t *testing.T) {
	t.Parallel()
	p, _ := between(t, 1)
	c := dial(t, p)
	check(t, says(c, string(bytes.Repeat([]byte("beckon "), 100_000))))
	if got := p.Counts(); got.Accepted != 1 || got.Open != 1 || len(got.Happened) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestProxy_ServerIsAway(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	check(t, e.Close())
	if err := says(dial(t, p), "anybody?"); err == nil {
		t.Error("somebody answered")
	}
}

func TestProxy_LatencyAndJitter(t *testing.T) {
	t.Parallel()
	p, _ := between(t, 3)
	p.Next(faultproxy.Fault{LatencyMS: 40, JitterMS: 20})
	c := dial(t, p)
	began := time.Now()
	check(t, says(c, "late"))
	if took := time.Since(began); took < 80*time.Millisecond {
		t.Errorf("there and back took %v, 40 ms late each way", took)
	}
	began = time.Now()
	check(t, says(dial(t, p), "in time"))
	if took := time.Since(began); took > 40*time.Millisecond {
		t.Logf("the next took %v on a busy machine", took)
	}
}

func TestProxy_Reset(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	p.Next(faultproxy.Fault{Kind: faultproxy.Reset, After: 4})
	c := dial(t, p)
	_, err := io.WriteString(c, "12345678")
	check(t, err)
	got, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read %q, %v; want a reset", got, err)
	}
	if err := <-e.ends; !errors.Is(err, syscall.ECONNRESET) {
		t.Error("the server saw", err)
	}
	p.Next(faultproxy.Fault{Kind: faultproxy.Reset})
	// The reset may come before connect has returned.
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Addr()); err == nil {
		if says(c, "x") == nil {
			t.Error("a connection that is reset at once carried a word")
		}
		check(t, c.Close())
	}
	check(t, says(dial(t, p), "the one after passes"))
	if n := p.Counts().Happened[faultproxy.Reset]; n != 2 {
		t.Error(n, "resets are counted")
	}
}

func TestProxy_Truncate(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	p.All(faultproxy.Fault{Kind: faultproxy.Truncate, After: 5})
	for range 2 {
		c := dial(t, p)
		_, err := io.WriteString(c, "12345678")
		check(t, err)
		if got, err := io.ReadAll(c); string(got) != "12345" || err != nil {
			t.Errorf("read %q, %v; want five bytes and an end", got, err)
		}
		t.Log("the server saw", <-e.ends)
	}
	p.Clear()
	check(t, says(dial(t, p), "12345678"))
}

func TestProxy_BlackHole(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	p.Next(faultproxy.Fault{Kind: faultproxy.BlackHole})
	c := dial(t, p)
	_, err := c.Write(bytes.Repeat([]byte{1}, 1<<20))
	check(t, err)
	silent(t, c)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.conns) != 0 {
		t.Error("the server was reached")
	}
}

func TestProxy_HalfOpen(t *testing.T) {
	t.Parallel()
	p, e := between(t, 1)
	c := dial(t, p)
	check(t, says(c, "before"))
	p.Now(faultproxy.Fault{Kind: faultproxy.HalfOpen})
	_, err := io.WriteString(c, "swallowed")
	check(t, err)
	silent(t, c)
	check(t, c.Close())
	select {
	case err := <-e.ends:
		t.Error("the server was told of the end:", err)
	case <-time.After(quiet):
	}
	check(t, says(dial(t, p), "new ones pass"))
	p.Now(faultproxy.Fault{}) // it was the client's end that is gone
	t.Log("the server saw", <-e.ends)
}

func TestProxy_IdleCut(t *testing.T) {
	t.Parallel()
	p, _ := between(t, 1)
	p.All(faultproxy.Fault{Kind: faultproxy.IdleCut, IdleMS: 150})
	c := dial(t, p)
	began := time.Now()
	for tick := time.NewTicker(20 * time.Millisecond); time.Since(began) < 300*time.Millisecond; <-tick.C {
		if err := says(c, "x"); err != nil {
			t.Fatal("cut while it was in use:", err)
		}
	}
	began = time.Now()
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read %d, %v; want an end", n, err)
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Error("cut after", took)
	}
	if n := p.Counts().Happened[faultproxy.IdleCut]; n != 1 {
		t.Error(n, "cuts are counted")
	}
}

// Close ends what hangs, and whoever awaits hears of a fault.
func TestProxy_CloseAndAwait(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p, err := faultproxy.Listen(t.Context(), "127.0.0.1:0", e.Addr().String(), 1)
	check(t, err)
	p.Next(faultproxy.Fault{Kind: faultproxy.BlackHole}, faultproxy.Fault{Kind: faultproxy.HalfOpen}, faultproxy.Fault{LatencyMS: 60_000})
	for range 3 {
		_, err := io.WriteString(dial(t, p), "x")
		check(t, err)
	}
	check(t, p.Await(t.Context(), func(c faultproxy.Counts) bool {
		return c.Happened[faultproxy.BlackHole] == 1 && c.Happened[faultproxy.HalfOpen] == 1 && c.Open == 3
	}))
	check(t, p.Close())
	check(t, p.Close())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Await(gone, func(faultproxy.Counts) bool { return false }); !errors.Is(err, context.Canceled) {
		t.Error("Await =", err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
