package journal

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"
)

// Journal is an append-only list of entries. It is safe for concurrent use.
// Entries are numbered from 0 in the order of Append; a journal that keeps only
// the newest entries goes on counting the dropped ones.
type Journal[T any] struct {
	mu      sync.Mutex
	entries []T
	dropped int
	keep    int
	changed chan struct{} // closed and replaced by every Append
	enc     *json.Encoder
	err     error
}

// New returns an empty journal. Every entry is also written to w as one JSON
// line unless w is nil. keep bounds how many entries stay in memory, the newest
// ones; 0 keeps all of them, which a long run with large payloads may not want.
func New[T any](w io.Writer, keep int) *Journal[T] {
	j := &Journal[T]{keep: keep, changed: make(chan struct{})}
	if w != nil {
		j.enc = json.NewEncoder(w)
		// A reader of the log compares payload text; escaped markup would differ.
		j.enc.SetEscapeHTML(false)
	}
	return j
}

// Append adds an entry and wakes everyone who waits.
func (j *Journal[T]) Append(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
	if j.keep > 0 && len(j.entries) >= 2*j.keep {
		cut := len(j.entries) - j.keep
		j.dropped += cut
		j.entries = slices.Clone(j.entries[cut:])
	}
	if j.enc != nil && j.err == nil {
		j.err = j.enc.Encode(entry)
	}
	close(j.changed)
	j.changed = make(chan struct{})
}

// Err returns the first error of the writer; entries after it are kept in
// memory only.
func (j *Journal[T]) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Len returns how many entries were ever appended, dropped ones included.
func (j *Journal[T]) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dropped + len(j.entries)
}

// All returns a copy of the entries still in memory.
func (j *Journal[T]) All() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// Wait blocks until at least n entries were appended and returns those in
// memory. When ctx ends first it returns them with the error of ctx.
func (j *Journal[T]) Wait(ctx context.Context, n int) ([]T, error) {
	for {
		j.mu.Lock()
		enough, changed := j.dropped+len(j.entries) >= n, j.changed
		all := slices.Clone(j.entries)
		j.mu.Unlock()
		if enough {
			return all, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return all, ctx.Err()
		}
	}
}

// Next blocks until the entry numbered from exists and returns it with the
// number to ask for next, so that a loop over Next sees every entry once. Where
// that entry was dropped already it goes on at the oldest one kept.
func (j *Journal[T]) Next(ctx context.Context, from int) (T, int, error) {
	for {
		j.mu.Lock()
		at, changed := max(from, j.dropped), j.changed
		if at < j.dropped+len(j.entries) {
			entry := j.entries[at-j.dropped]
			j.mu.Unlock()
			return entry, at + 1, nil
		}
		j.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			var none T
			return none, from, ctx.Err()
		}
	}
}

// Find blocks until an entry matches, old ones included, and returns the first.
func (j *Journal[T]) Find(ctx context.Context, match func(T) bool) (T, error) {
	for at := 0; ; {
		entry, next, err := j.Next(ctx, at)
		if err != nil || match(entry) {
			return entry, err
		}
		at = next
	}
}
