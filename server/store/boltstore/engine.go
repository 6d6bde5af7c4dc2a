// Package boltstore is the store engine on one bbolt file: the default of a
// server that is one binary with one data folder.
//
// One goroutine writes. It takes the commands that wait, runs each on an
// overlay above the last commit, and commits what succeeded as one bbolt
// transaction: 256 commands, 4 MiB of changes, or an empty queue, whichever
// comes first. Every caller hears its result after the sync of that commit,
// callers whose command refused included, because what they were told may rest
// on a neighbour's change. A command that fails or panics is taken back out of
// the overlay and costs its neighbours nothing.
//
//	queue → run on the overlay → overlay full or queue empty → commit, sync → replies
//	              ↓ error, panic
//	        taken back, reply waits with the others
//
// A full disk fails commands with [store.ErrDiskFull] and nothing else; any
// other failed commit stops writes until the folder is opened again, see
// [ErrWritesStopped].
package boltstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
)

var _ store.Engine = (*Engine)(nil)

// ErrWritesStopped follows a commit that failed for another reason than a full
// disk. What the medium holds of that commit is unknown, and a second sync
// could wrongly report success, so nothing is written until the folder is
// opened again. Reads go on.
var ErrWritesStopped = errors.New("boltstore: writes stopped after a failed commit")

// Engine is an open data folder. All methods may be called from any goroutine,
// but not from inside a View or Update of the same engine: a view that waits
// for a command can wait for itself.
type Engine struct {
	db      *bbolt.DB
	queue   *queue
	stopped chan struct{} // closed when the writer goroutine has ended
	broken  error         // of the writer goroutine only
	// committed is Options.Committed.
	committed func(uint64)

	commits  atomic.Uint64
	commands atomic.Uint64
}

// Stats counts since Open. Commands/Commits is how well callers share syncs.
type Stats struct {
	Commits  uint64 // bbolt transactions committed, two syncs each
	Commands uint64 // commands that succeeded in them
}

// View runs fn in a short read transaction on the state of the last commit.
// A panic of fn passes through after the transaction has ended.
func (e *Engine) View(ctx context.Context, _ string, fn func(store.Reader) error) error {
	if ctx.Err() != nil {
		return notStarted(ctx)
	}
	if e.queue.isClosed() {
		return store.ErrClosed
	}
	tx, err := e.db.Begin(false)
	if err != nil {
		return fmt.Errorf("boltstore: begin view: %w", classify(err))
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return fn(newReader(tx))
}

// Update hands fn to the writer goroutine and waits for the commit. When ctx
// ends while the command still waits, the command never runs; once it was
// taken up its result is waited for whatever ctx says.
func (e *Engine) Update(ctx context.Context, _ string, fn func(store.Writer) error) error {
	if ctx.Err() != nil {
		return notStarted(ctx)
	}
	c := newCommand(fn)
	if !e.queue.add(c) {
		return store.ErrClosed
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		if e.queue.withdraw(c) {
			return notStarted(ctx)
		}
		return <-c.done
	}
}

// Close refuses new commands, runs those already accepted, waits for the
// writer goroutine and the views under way, and releases the folder. A second
// Close waits for the first and returns nil.
func (e *Engine) Close() error {
	e.queue.close()
	<-e.stopped
	if err := e.db.Close(); err != nil {
		return fmt.Errorf("boltstore: close: %w", err)
	}
	return nil
}

// Snapshot writes the database as of the last commit, as a file that Open takes,
// and returns the number of that commit. Commands go on meanwhile; only where
// the file has to grow past its map, beyond 1 GiB, they wait for the end.
func (e *Engine) Snapshot(ctx context.Context, to io.Writer) (commit uint64, err error) {
	if ctx.Err() != nil {
		return 0, notStarted(ctx)
	}
	if e.queue.isClosed() {
		return 0, store.ErrClosed
	}
	err = e.db.View(func(tx *bbolt.Tx) error {
		commit = uint64(tx.ID())
		_, err := tx.WriteTo(to)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("boltstore: snapshot: %w", classify(err))
	}
	return commit, nil
}

// Check reads the whole file and fails on pages that do not fit together.
func (e *Engine) Check(ctx context.Context) error {
	if ctx.Err() != nil {
		return notStarted(ctx)
	}
	return e.db.View(func(tx *bbolt.Tx) error {
		var err error
		for bad := range tx.Check() { // read to its end, or its goroutine stays
			err = errors.Join(err, bad)
		}
		return err
	})
}

// CommitID is the number of the last commit. It grows with each, and is part of
// the file.
func (e *Engine) CommitID() (uint64, error) {
	tx, err := e.db.Begin(false)
	if err != nil {
		return 0, fmt.Errorf("boltstore: begin view: %w", classify(err))
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return uint64(tx.ID()), nil
}

// Stats returns the counts so far.
func (e *Engine) Stats() Stats {
	return Stats{Commits: e.commits.Load(), Commands: e.commands.Load()}
}

func notStarted(ctx context.Context) error {
	return fmt.Errorf("boltstore: not started: %w", ctx.Err())
}
