package boltstore

import (
	"container/list"
	"sync"

	"github.com/beckon-dev/beckon/server/store"
)

// command is one Update on its way through the writer goroutine.
type command struct {
	fn   func(store.Writer) error
	done chan error    // one result, never blocks the writer
	err  error         // of the writer goroutine until it replies
	slot *list.Element // under the lock of the queue; nil once taken up
}

func newCommand(fn func(store.Writer) error) *command {
	return &command{fn: fn, done: make(chan error, 1)}
}

// queue holds the commands not taken up yet, first come first served. It is
// bounded by its callers: each waits for the one command it added.
type queue struct {
	mu      sync.Mutex
	changed sync.Cond
	waiting list.List
	closed  bool
}

func newQueue() *queue {
	q := &queue{}
	q.changed.L = &q.mu
	return q
}

// add puts c last and tells whether the queue still accepts commands.
func (q *queue) add(c *command) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	c.slot = q.waiting.PushBack(c)
	q.changed.Signal()
	return true
}

// withdraw takes c out again. It is false when the writer has taken c up.
func (q *queue) withdraw(c *command) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c.slot == nil {
		return false
	}
	q.waiting.Remove(c.slot)
	c.slot = nil
	return true
}

// take waits for the next command; nil means closed and empty.
func (q *queue) take() *command {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.waiting.Len() == 0 && !q.closed {
		q.changed.Wait()
	}
	return q.pop()
}

// more returns the next command if one waits already, else nil.
func (q *queue) more() *command {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pop()
}

func (q *queue) pop() *command {
	front := q.waiting.Front()
	if front == nil {
		return nil
	}
	c := q.waiting.Remove(front).(*command) //nolint:forcetypeassert // nothing else is ever put in
	c.slot = nil
	return c
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Signal()
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}
