package app_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/server/app"
)

// frame is one thing a watcher was told, and when.
type frame struct {
	what  string // hello, delta, caught up, beat, goaway
	after time.Duration
	hello app.Hello
	delta app.Delta
	sent  []app.At
	// back is between which times to reconnect.
	back [2]time.Duration
}

// screen is a watcher that takes every frame at once, or none while it is
// stuck.
type screen struct {
	began time.Time

	mu        sync.Mutex
	frames    []frame
	abandoned int
	// stuck, where it is not nil, holds frames until Abandon.
	stuck chan struct{}
}

var errAbandoned = errors.New("abandoned")

func (s *screen) take(f frame) error {
	s.mu.Lock()
	stuck := s.stuck
	f.after = time.Since(s.began)
	if stuck == nil {
		s.frames = append(s.frames, f)
	}
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
		return errAbandoned
	}
	return nil
}

func (s *screen) Hello(h app.Hello) error { return s.take(frame{what: "hello", hello: h}) }
func (s *screen) Delta(d app.Delta) error { return s.take(frame{what: "delta", delta: d}) }
func (s *screen) CaughtUp() error         { return s.take(frame{what: "caught up"}) }
func (s *screen) Heartbeat(sent []app.At) error {
	return s.take(frame{what: "beat", sent: slices.Clone(sent)})
}

func (s *screen) Goaway(from, to time.Duration) error {
	return s.take(frame{what: "goaway", back: [2]time.Duration{from, to}})
}

func (s *screen) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandoned++; s.stuck != nil && s.abandoned == 1 {
		close(s.stuck)
	}
}

// stick lets the next frame block.
func (s *screen) stick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = make(chan struct{})
}

// seen is what has been taken, without what was seen before.
func (s *screen) seen() []frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.frames
	s.frames = nil
	return out
}

func words(frames []frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.what
	}
	return out
}

// watching is a stream in a bubble.
type watching struct {
	*screen
	stop context.CancelFunc
	done chan error
}

// open starts a stream of a device and waits until it is level and its next read
// needs no waiting.
func (h *harness) open(by device, at ...app.At) *watching {
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	w := &watching{screen: &screen{began: time.Now()}, stop: cancel, done: make(chan error, 1)}
	go func() { w.done <- h.app.Watch(ctx, by.Principal, app.Watch{At: at}, w.screen) }()
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return w
}

// end closes the stream from the client's side.
func (w *watching) end(t *testing.T) {
	t.Helper()
	w.stop()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client went away: %v", err)
	}
}

// ended reports how the stream has ended; it has to have.
func (w *watching) ended(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.done:
		return err
	default:
		t.Fatal("the stream goes on")
		return nil
	}
}
