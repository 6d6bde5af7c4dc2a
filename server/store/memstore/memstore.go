// Package memstore is a store engine in memory. It keeps the whole contract
// but durability, so tests and simulations run on a real store and need no
// mock.
package memstore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/guard"
	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

var _ store.Engine = (*Engine)(nil)

// snapshot is one committed state. It never changes: a command works on clones
// of the tables it writes, and its success puts a new snapshot in place.
type snapshot map[store.Table]*sorted.Map

// Engine runs one command at a time and any number of views beside it. Views
// never wait for a command, and a view already running outlives Close.
type Engine struct {
	current atomic.Pointer[snapshot]
	turn    chan struct{} // holds one token; whoever took it may write
	closed  chan struct{}
	once    sync.Once
}

// New returns an empty engine. It starts no goroutine.
func New() *Engine {
	e := &Engine{turn: make(chan struct{}, 1), closed: make(chan struct{})}
	e.current.Store(&snapshot{})
	e.turn <- struct{}{}
	return e
}

// Copy is another engine in the state of the last commit, as a backup would
// give it.
func (e *Engine) Copy() *Engine {
	c := New()
	c.current.Store(e.current.Load())
	return c
}

// View runs fn on the state of the last commit before it.
func (e *Engine) View(ctx context.Context, _ string, fn func(store.Reader) error) error {
	if err := e.ready(ctx); err != nil {
		return err
	}
	return fn(reader{lookup: e.current.Load().table})
}

// Update runs fn when its turn comes, on the goroutine of the caller.
func (e *Engine) Update(ctx context.Context, _ string, fn func(store.Writer) error) error {
	select {
	case <-e.turn:
	case <-ctx.Done():
		return notStarted(ctx)
	case <-e.closed:
		return store.ErrClosed
	}
	defer func() { e.turn <- struct{}{} }()
	// With several cases ready select picks any of them.
	if err := e.ready(ctx); err != nil {
		return err
	}
	w := newWriter(*e.current.Load())
	defer w.end()
	if err := guard.Call(func() error { return fn(w) }); err != nil {
		return err
	}
	e.commit(w)
	return nil
}

// Close lets the running command end and refuses all later ones. A second
// Close does nothing.
func (e *Engine) Close() error {
	e.once.Do(func() {
		close(e.closed)
		<-e.turn
		e.turn <- struct{}{}
	})
	return nil
}

func (e *Engine) commit(w *writer) {
	if len(w.own) == 0 {
		return
	}
	next := maps.Clone(w.base)
	maps.Copy(next, w.own)
	e.current.Store(&next)
}

func (e *Engine) ready(ctx context.Context) error {
	select {
	case <-e.closed:
		return store.ErrClosed
	default:
	}
	if ctx.Err() != nil {
		return notStarted(ctx)
	}
	return nil
}

func notStarted(ctx context.Context) error {
	return fmt.Errorf("memstore: not started: %w", ctx.Err())
}

func (s *snapshot) table(name store.Table) *sorted.Map { return (*s)[name] }
