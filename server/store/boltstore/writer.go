package boltstore

import (
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
)

// Bounds of one commit: enough to spread a sync over many callers, little
// enough that the first of them does not wait long.
const (
	maxCommands = 256
	maxPending  = 4 << 20
)

// write is the writer goroutine; Close waits for it.
func (e *Engine) write() {
	defer close(e.stopped)
	for {
		first := e.queue.take()
		if first == nil {
			return
		}
		e.group(first)
	}
}

// group commits first and those waiting behind it, and replies to all of them.
// When there is no room for all, each gets its own try, so that a large
// command does not fail the small ones beside it.
func (e *Engine) group(first *command) {
	batch, err := e.try(first, e.queue.more)
	if errors.Is(err, store.ErrDiskFull) && len(batch) > 1 {
		for _, c := range batch {
			_, _ = e.try(c, func() *command { return nil }) // c holds its result
		}
	}
	for _, c := range batch {
		c.done <- c.err
	}
}

// try runs and commits a batch that starts with c and goes on with what next
// returns. Each command holds its result afterwards; err is what failed all of them.
func (e *Engine) try(c *command, next func() *command) (batch []*command, err error) {
	if e.broken != nil {
		c.err = e.broken
		return []*command{c}, c.err
	}
	tx, err := e.db.Begin(true)
	if err != nil {
		c.err = fmt.Errorf("boltstore: begin: %w", classify(err))
		return []*command{c}, c.err
	}
	changes := newOverlay(tx)
	for ; c != nil; c = next() {
		c.err = changes.run(c.fn)
		batch = append(batch, c)
		if len(batch) == maxCommands || changes.size >= maxPending {
			break
		}
	}
	if changes.empty() {
		return batch, tx.Rollback()
	}
	if err := e.commit(tx, changes); err != nil {
		// A command's own refusal may rest on a change that is now void.
		for _, c := range batch {
			c.err = err
		}
		return batch, err
	}
	e.count(batch)
	return batch, nil
}

// commit writes the overlay and syncs. After a full disk the file is as before
// and the next commit may work; after any other failure it may hold the new
// state without having synced it, so writing stops.
func (e *Engine) commit(tx *bbolt.Tx, changes *overlay) error {
	id := tx.ID()
	if err := changes.apply(); err != nil {
		return errors.Join(fmt.Errorf("boltstore: apply: %w", err), tx.Rollback())
	}
	err := classify(tx.Commit())
	switch {
	case err == nil:
		e.committed(uint64(id))
		return nil
	case errors.Is(err, store.ErrDiskFull) && !e.visible(id):
		return fmt.Errorf("boltstore: commit: %w", err)
	}
	e.broken = fmt.Errorf("%w: %w", ErrWritesStopped, err)
	return e.broken
}

// visible tells whether readers already see transaction id; when in doubt, yes.
func (e *Engine) visible(id int) bool {
	tx, err := e.db.Begin(false)
	if err != nil {
		return true
	}
	defer tx.Rollback() //nolint:errcheck // a read transaction has nothing to lose
	return tx.ID() >= id
}

func (e *Engine) count(batch []*command) {
	e.commits.Add(1)
	for _, c := range batch {
		if c.err == nil {
			e.commands.Add(1)
		}
	}
}
