package store

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
)

// gone is a tombstone by the time at which it was set.
type gone struct {
	own     []byte // key in tabGone
	entity  []byte // key in tabEntity
	scope   changelog.Scope
	version changelog.Seq
}

// Tombstones reports whether any is from before a time.
func (r *Read) Tombstones(before time.Time) (bool, error) {
	all, err := r.tombstones(before, 1)
	return len(all) > 0, err
}

func (r *Read) tombstones(before time.Time, n int) ([]gone, error) {
	prefix := append([]byte(r.account), 0)
	var all []gone
	var failed error
	err := r.r.Scan(tabGone, prefix, accountKey(r.account, beTime(before)), func(k, v []byte) bool {
		g, err := parseGone(r.account, k, v)
		if failed = err; err != nil {
			return false
		}
		all = append(all, g)
		return len(all) < n
	})
	if err == nil {
		err = failed
	}
	return all, err
}

// parseGone reads account 0 time 0 scope 0 kind id = version.
func parseGone(account string, k, v []byte) (gone, error) {
	rest := k[len(account)+1+9:]
	name, _, ok := bytes.Cut(rest, []byte{0})
	scope := changelog.AccountScope
	id, ofThread := strings.CutPrefix(string(name), "thread:")
	if ofThread {
		scope = changelog.ThreadScope(id)
	}
	if !ok || scope.String() != string(name) || len(v) != 8 {
		return gone{}, ErrCorrupt
	}
	return gone{
		own:     bytes.Clone(k),
		entity:  append(append([]byte(account), 0), rest...),
		scope:   scope,
		version: changelog.Seq(binary.BigEndian.Uint64(v)),
	}, nil
}

// PurgeTombstones forgets at most n tombstones from before a time. A cursor that
// has not seen one of them is too old from then on. It returns how many it has
// looked at: fewer than n are all there were.
func (t *Tx) PurgeTombstones(before time.Time, n int) (int, error) {
	all, err := t.tombstones(before, n)
	if err != nil {
		return 0, err
	}
	for _, g := range all {
		if err := t.purge(g); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// purge forgets one tombstone. What has come back meanwhile, or has gone once
// more, stays: it has moved on to another version.
func (t *Tx) purge(g gone) error {
	if err := t.w.Delete(tabGone, g.own); err != nil {
		return err
	}
	e, found, err := getEntity(t.r, g.entity)
	if err != nil || !found || !e.Deleted || e.Version != g.version {
		return err
	}
	row, err := t.scopeRow(g.scope)
	if err != nil {
		return err
	}
	row.Floor = max(row.Floor, g.version)
	t.scopes[g.scope] = row
	if err := t.w.Delete(tabIndex, indexKey(t.account, g.scope, g.version)); err != nil {
		return err
	}
	return t.w.Delete(tabEntity, g.entity)
}

// StaleResults reads n remembered results of writes after a key, the first ones
// for an empty one, and returns the keys of those whose time is over, and the
// key to go on after: empty at the end.
func (r *Read) StaleResults(last string, n int) (stale []string, next string, err error) {
	prefix := append([]byte(r.account), 0)
	from := prefix
	if last != "" {
		from = append([]byte(last), 0)
	}
	seen := 0
	err = scanRange(r.r.Scan, tabOnce, from, after(prefix), func(k []byte, row Idempotent) bool {
		next = string(k)
		if !r.now.Before(row.ExpireTime) {
			stale = append(stale, next)
		}
		seen++
		return seen < n
	})
	if seen < n {
		next = ""
	}
	return stale, next, err
}

// DropResults forgets the results under these keys whose time is over.
func (t *Tx) DropResults(keys []string) error {
	for _, k := range keys {
		row, found, err := getRow[Idempotent](t.r, tabOnce, []byte(k))
		if err == nil && found && !t.now.Before(row.ExpireTime) {
			err = deleteRow(t.w, tabOnce, []byte(k))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// OldDeliveries reads n rows from before a time, oldest first, from a place on
// without the row at it.
func (r *Read) OldDeliveries(before time.Time, from DeliveryPlace, n int) ([]push.Delivery, error) {
	start := append([]byte(r.account), 0)
	if !from.Time.IsZero() {
		start = append(accountKey(r.account, beTime(from.Time), from.ID), 0)
	}
	var ids []string
	err := r.r.Scan(tabRecent, start, accountKey(r.account, beTime(before)), func(k, _ []byte) bool {
		ids = append(ids, string(k[len(r.account)+1+9:]))
		return len(ids) < n
	})
	if err != nil {
		return nil, err
	}
	return r.deliveries(ids)
}

// DropDelivery forgets a row that has ended.
func (t *Tx) DropDelivery(d push.Delivery) error {
	if err := t.w.Delete(tabRecent, accountKey(t.account, beTime(d.CreatedAt), d.ID)); err != nil {
		return err
	}
	if d.Key() != "" {
		if err := t.w.Delete(tabAbout, accountKey(t.account, d.Key(), d.ID)); err != nil {
			return err
		}
	}
	return deleteRow(t.w, tabOutbox, accountKey(t.account, d.ID))
}

// TasksAfter reads n tasks after an id, whatever became of them.
func (r *Read) TasksAfter(id string, n int) ([]task.State, error) {
	prefix := append([]byte(r.account), 0)
	from := prefix
	if id != "" {
		from = append(accountKey(r.account, id), 0)
	}
	var out []task.State
	err := scanRange(r.r.Scan, tabTask, from, after(prefix), func(_ []byte, s task.State) bool {
		out = append(out, s)
		return len(out) < n
	})
	return out, err
}

// leftovers are the tables that hold what only a living task needs.
var leftovers = [...]Table{Table(tabSignal), Table(tabCheck), tabTokenOf, tabDenied}

// HasLeftovers reports whether anything is kept that only a living task needs:
// signals, checkpoints, task tokens and what was denied.
func (r *Read) HasLeftovers(id string) (bool, error) {
	found := false
	for _, table := range leftovers {
		prefix := append(accountKey(r.account, id), 0)
		if err := r.r.Scan(table, prefix, after(prefix), func(_, _ []byte) bool {
			found = true
			return false
		}); err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// DropLeftovers forgets at most n rows of what only a living task needs, and
// returns how many.
func (t *Tx) DropLeftovers(id string, n int) (int, error) {
	dropped := 0
	for _, table := range leftovers {
		prefix := append(accountKey(t.account, id), 0)
		var keys [][]byte
		if err := t.r.Scan(table, prefix, after(prefix), func(k, _ []byte) bool {
			if dropped+len(keys) < n {
				keys = append(keys, bytes.Clone(k))
			}
			return dropped+len(keys) < n
		}); err != nil {
			return dropped, err
		}
		for _, k := range keys {
			if table == tabTokenOf {
				if err := t.DeleteCredential(string(k[len(prefix):])); err != nil {
					return dropped, err
				}
			}
			if err := t.w.Delete(table, k); err != nil {
				return dropped, err
			}
		}
		dropped += len(keys)
	}
	return dropped, nil
}
