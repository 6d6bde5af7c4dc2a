// Package script decides which requests a stand-in for a vendor answers with a
// fault or holds back. What a request is, what a fault does and what is written
// down of a request are the vendor's; counting and order are the same for all:
//
//	request S ─► every rule whose Is takes it counts it
//	             ├ the first rule in its span that has a fault: F
//	             └ the first rule in its span that is a hold: the record R waits
package script

import (
	"context"
	"slices"
	"sync"

	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// When picks requests among those that pass all checks of the vendor.
type When[S any] struct {
	// Is tells whether a request is of the kind that is counted.
	Is func(S) bool
	// Nth is the first one it is for, counted from 1 since it was scripted; 0 is 1.
	Nth int
	// Times is how many in a row; 0 is one, a negative number all later ones.
	Times int
}

// Script has the rules in the order they were made: S is a request, F a fault and R
// the record of a request. The zero value has none. It is safe for concurrent use.
type Script[S, F, R any] struct {
	mu    sync.Mutex
	rules []*rule[S, F, R]
}

type rule[S, F, R any] struct {
	when  When[S]
	fault F
	hold  *Hold[R] // a rule is a hold or a fault
	seen  int
}

// Fault gives the fault to the requests picked. Where several rules pick one, the
// first wins, and each counts it.
func (s *Script[S, F, R]) Fault(w When[S], f F) { s.add(&rule[S, F, R]{when: w, fault: f}) }

// Hold stops the requests picked until Release.
func (s *Script[S, F, R]) Hold(w When[S]) *Hold[R] {
	h := &Hold[R]{held: journal.New[R](nil, 0), release: make(chan struct{})}
	s.add(&rule[S, F, R]{when: w, hold: h})
	return h
}

func (s *Script[S, F, R]) add(r *rule[S, F, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

// Clear takes back all faults and holds; requests that are held go on.
func (s *Script[S, F, R]) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.hold != nil {
			r.hold.Release()
		}
	}
	s.rules = nil
}

// Drop takes back the faults that match and returns how many there were.
func (s *Script[S, F, R]) Drop(match func(F) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.rules)
	s.rules = slices.DeleteFunc(s.rules, func(r *rule[S, F, R]) bool { return r.hold == nil && match(r.fault) })
	return before - len(s.rules)
}

// Next counts a request and returns the fault and the hold for it; nil is none. The
// fault must not be changed.
func (s *Script[S, F, R]) Next(request S) (fault *F, hold *Hold[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if !r.takes(request) {
			continue
		}
		switch {
		case r.hold != nil && hold == nil:
			hold = r.hold
		case r.hold == nil && fault == nil:
			fault = &r.fault
		}
	}
	return fault, hold
}

func (r *rule[S, F, R]) takes(request S) bool {
	if !r.when.Is(request) {
		return false
	}
	r.seen++
	first, times := max(r.when.Nth, 1), r.when.Times
	if times == 0 {
		times = 1
	}
	return r.seen >= first && (times < 0 || r.seen < first+times)
}

// Hold stops matching requests after they were accepted, stored and recorded and
// before they are answered.
type Hold[R any] struct {
	held    *journal.Journal[R]
	release chan struct{}
	once    sync.Once

	mu   sync.Mutex
	seen int
}

// Reached blocks until a further request is held and returns its record; each
// request is returned once. The error is that of ctx.
func (h *Hold[R]) Reached(ctx context.Context) (R, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rec, next, err := h.held.Next(ctx, h.seen)
	h.seen = next
	return rec, err
}

// Release lets the requests go on, also those that come later.
func (h *Hold[R]) Release() { h.once.Do(func() { close(h.release) }) }

// Wait is the vendor's side: it tells whoever waits in Reached and blocks until
// Release or the end of ctx.
func (h *Hold[R]) Wait(ctx context.Context, rec R) {
	h.held.Append(rec)
	select {
	case <-h.release:
	case <-ctx.Done():
	}
}
