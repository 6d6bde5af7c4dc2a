package sim

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/store"
)

// errCrash is what a caller sees of a process that died: nothing.
var errCrash = errors.New("sim: the process died")

// engine is a store engine in a process that can die at a commit. Once dead it
// answers nothing until revive.
type engine struct {
	store.Engine
	wall    func() time.Time
	account string

	// crashAt is the update of this step at which the process dies, counted
	// from 1; 0 means that it lives. after: the commit is made first.
	crashAt int
	after   bool
	dead    bool

	// updates and commits of this step.
	updates, commits int
	// last is the time of the account's newest commit, by our own reckoning.
	last time.Time
	// tables has every table that was ever written to.
	tables map[store.Table]bool
}

var _ store.Engine = (*engine)(nil)

// begin starts the count of a step.
func (e *engine) begin(crashAt int, after bool) {
	e.crashAt, e.after, e.updates, e.commits = crashAt, after, 0, 0
}

// View reads, if the process lives.
func (e *engine) View(ctx context.Context, account string, fn func(store.Reader) error) error {
	if e.dead {
		return errCrash
	}
	return e.Engine.View(ctx, account, fn)
}

// Update runs one command, and dies where it was told to.
func (e *engine) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	if e.dead {
		return errCrash
	}
	e.updates++
	crash := e.updates == e.crashAt
	err := e.Engine.Update(ctx, account, func(w store.Writer) error {
		if err := fn(recorder{Writer: w, tables: e.tables}); err != nil {
			return err
		}
		if crash && !e.after {
			e.dead = true
			return errCrash
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.commits++
	if account == e.account {
		e.last = later(e.last, micro(e.wall()))
	}
	if crash {
		e.dead = true
		return errCrash
	}
	return nil
}

// recorder notes the tables that are written to.
type recorder struct {
	store.Writer
	tables map[store.Table]bool
}

func (r recorder) Put(table store.Table, key, value []byte) error {
	r.tables[table] = true
	return r.Writer.Put(table, key, value)
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
