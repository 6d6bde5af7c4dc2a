package feed

import (
	"context"
	"sync"
	"time"
)

// Hub wakes everybody who waits for a topic. The zero value is not usable;
// see NewHub.
type Hub struct {
	mu   sync.Mutex
	subs map[string]map[*Sub]struct{}
}

// NewHub is a hub nobody waits at.
func NewHub() *Hub { return &Hub{subs: map[string]map[*Sub]struct{}{}} }

// Sub is one reader's dirty bit: however often its topics are woken before it
// looks, it holds one wake.
type Sub struct {
	hub    *Hub
	topics []string
	c      chan struct{}
}

// Subscribe waits for any of the topics from now on. Close it.
func (h *Hub) Subscribe(topics ...string) *Sub {
	s := &Sub{hub: h, topics: topics, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = map[*Sub]struct{}{}
		}
		h.subs[t][s] = struct{}{}
	}
	return s
}

// C receives once after one or more wakes.
func (s *Sub) C() <-chan struct{} { return s.c }

// Close stops waiting.
func (s *Sub) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	for _, t := range s.topics {
		delete(s.hub.subs[t], s)
		if len(s.hub.subs[t]) == 0 {
			delete(s.hub.subs, t)
		}
	}
}

// Wake tells everybody who waits for any of the topics to look again. It never
// blocks.
func (h *Hub) Wake(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		for s := range h.subs[t] {
			select {
			case s.c <- struct{}{}:
			default:
			}
		}
	}
}

// Tail reads, and while there is nothing waits for a wake and reads again,
// until read says done, wait has passed or the context ends. The end of the
// wait is no error; read has then run once more.
func (h *Hub) Tail(ctx context.Context, wait time.Duration, topics []string, read func() (done bool, err error)) error {
	var sub *Sub
	if wait > 0 {
		sub = h.Subscribe(topics...)
		defer sub.Close()
	}
	done, err := read()
	if done || err != nil || wait <= 0 {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		last := false
		select {
		case <-sub.C():
		case <-timer.C:
			last = true
		case <-ctx.Done():
			return ctx.Err()
		}
		done, err := read()
		if done || last || err != nil {
			return err
		}
	}
}
