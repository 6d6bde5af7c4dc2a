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
	subs map[string]map[*Sub]uint64 // topic → reader → the topic's bit in dirty
}

// NewHub is a hub nobody waits at.
func NewHub() *Hub { return &Hub{subs: map[string]map[*Sub]uint64{}} }

// Sub is one reader's dirty bits, one for each topic: however often a topic is
// woken before the reader looks, it holds one wake.
type Sub struct {
	hub    *Hub
	topics []string
	c      chan struct{}
	dirty  uint64 // of the hub's lock
}

// Subscribe waits for any of the topics from now on. Close it.
func (h *Hub) Subscribe(topics ...string) *Sub {
	s := &Sub{hub: h, topics: topics, c: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = map[*Sub]uint64{}
		}
		h.subs[t][s] |= 1 << min(i, 63)
	}
	return s
}

// C receives once after one or more wakes.
func (s *Sub) C() <-chan struct{} { return s.c }

// Take gives the topics that were woken since it was last asked, bit i for the
// i-th one; those from the 64th on share a bit. Ask before reading: what happens
// during the read is then a wake of its own.
func (s *Sub) Take() uint64 {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	dirty := s.dirty
	s.dirty = 0
	return dirty
}

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
		for s, bit := range h.subs[t] {
			s.dirty |= bit
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
