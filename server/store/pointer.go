package store

import (
	"context"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

// DueKind says what has to happen at a time.
type DueKind string

// Kinds of due pointers.
const (
	DueLease    DueKind = "lease"    // a lease ends
	DueWait     DueKind = "wait"     // a wait set's until
	DueDeadline DueKind = "deadline" // a task is no longer wanted
	DueDecision DueKind = "decision" // a question or a grant ends
	DueWorker   DueKind = "worker"   // is a worker there for a claimable task?
	DueSilence  DueKind = "silence"  // has the worker said something?
	DueTimer    DueKind = "timer"    // a timer fires; the id is the task's and the key
)

// Due is a pointer: something of an account has to be looked at. The account's
// own transaction reads again whether that is still so.
type Due struct {
	Kind    DueKind
	Account string
	ID      string
	Time    time.Time
}

// TakeDue returns what is due at now, earliest first, at most n.
func (s *Store) TakeDue(ctx context.Context, now time.Time, n int) ([]Due, error) {
	var out []Due
	err := s.engine.View(ctx, "", func(r Reader) error {
		out = nil
		return r.Scan(tabPointDue, nil, []byte(beTime(now.Add(time.Microsecond))), func(k, _ []byte) bool {
			out = append(out, parseDue(k))
			return len(out) < n
		})
	})
	return out, err
}

// NextDue is the time of the earliest pointer, zero when there is none.
func (s *Store) NextDue(ctx context.Context) (time.Time, error) {
	var at time.Time
	err := s.engine.View(ctx, "", func(r Reader) error {
		at = time.Time{}
		return r.Scan(tabPointDue, nil, nil, func(k, _ []byte) bool {
			at = parseDue(k).Time
			return false
		})
	})
	return at, err
}

func parseDue(k []byte) Due {
	parts := strings.SplitN(string(k[9:]), "\x00", 3)
	return Due{Time: parseTime(k[:8]), Kind: DueKind(parts[0]), Account: parts[1], ID: parts[2]}
}

// setDue moves the one pointer of (kind, id) to a time; zero takes it away.
func (t *Tx) setDue(kind DueKind, id string, at time.Time) error {
	own := accountKey(t.account, string(kind), id)
	var next []byte
	if !at.IsZero() {
		next = accountKey(beTime(at), string(kind), t.account, id)
		t.commit.Due = true
	}
	return t.movePointer(tabDue, own, tabPointDue, next, []byte{1})
}

// movePointer keeps at most one row in a pointer table for what own names.
func (t *Tx) movePointer(ownTable Table, own []byte, table Table, next, value []byte) error {
	old, err := t.r.Get(ownTable, own)
	if err != nil {
		return err
	}
	if string(old) == string(next) {
		return nil
	}
	if old != nil {
		if err := t.w.Delete(table, append([]byte(nil), old...)); err != nil {
			return err
		}
	}
	if next == nil {
		return t.w.Delete(ownTable, own)
	}
	if err := t.w.Put(ownTable, own, next); err != nil {
		return err
	}
	return t.w.Put(table, next, value)
}

// HasDue reports whether a pointer of (kind, id) will bring it up.
func (r *Read) HasDue(kind DueKind, id string) (bool, error) {
	return r.has(tabDue, accountKey(r.account, string(kind), id), tabPointDue)
}

// Queued reports whether a worker that claims would find a task.
func (r *Read) Queued(task string) (bool, error) {
	return r.has(tabReadyOf, accountKey(r.account, task), Table(tabPointReady))
}

// has follows the one pointer that own names.
func (r *Read) has(ownTable Table, own []byte, table Table) (bool, error) {
	key, err := r.r.Get(ownTable, own)
	if err != nil || key == nil {
		return false, err
	}
	value, err := r.r.Get(table, append([]byte(nil), key...))
	return value != nil, err
}

// readyRow is what a claimant needs to see without opening the account.
type readyRow struct {
	Labels map[string]string
}

// setReady keeps the pointer by which a worker finds a claimable task.
func (t *Tx) setReady(s task.State) error {
	own := accountKey(t.account, s.ID)
	old, err := t.r.Get(tabReadyOf, own)
	if err != nil {
		return err
	}
	if !s.Claimable() {
		return t.movePointer(tabReadyOf, own, Table(tabPointReady), nil, nil)
	}
	if old != nil {
		return nil // keeps its place in the queue
	}
	value, err := readyCodec{}.encode(readyRow{Labels: s.Labels})
	if err != nil {
		return err
	}
	t.OfferReady(s)
	return t.movePointer(tabReadyOf, own, Table(tabPointReady), accountKey(s.Agent, beTime(t.now), t.account, s.ID), value)
}

// OfferReady lets workers look at a claimable task once more, where something
// else than the task kept them from it.
func (t *Tx) OfferReady(s task.State) {
	t.commit.Ready = append(t.commit.Ready, ReadyTask{Agent: s.Agent, Account: t.account, Task: s.ID, Labels: s.Labels, Since: t.now})
}

// ReadyTasks lists claimable tasks of an agent, longest waiting first, until
// fn returns false.
func (s *Store) ReadyTasks(ctx context.Context, agent string, fn func(ReadyTask) bool) error {
	return s.engine.View(ctx, "", func(r Reader) error {
		prefix := append([]byte(agent), 0)
		return scanRows(r, tabPointReady, prefix, func(k []byte, row readyRow) bool {
			rest := k[len(prefix):]
			parts := strings.SplitN(string(rest[9:]), "\x00", 2)
			return fn(ReadyTask{Agent: agent, Account: parts[0], Task: parts[1], Labels: row.Labels, Since: parseTime(rest[:8])})
		})
	})
}
