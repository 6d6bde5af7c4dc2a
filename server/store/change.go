package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// publish gives an entity its present bytes and moves its one index row. The
// same bytes again change nothing, so a body changes exactly when its version
// does.
func (t *Tx) publish(scope changelog.Scope, key changelog.Key, body []byte) error {
	return t.write(scope, key, entityRow{Body: body, Origin: t.origin})
}

// unpublish leaves a tombstone.
func (t *Tx) unpublish(scope changelog.Scope, key changelog.Key) error {
	return t.write(scope, key, entityRow{Deleted: true})
}

// Origin says that what is written from here on is the work of a client's
// mutation: the versions it writes carry its name.
func (t *Tx) Origin(mutation string) { t.origin = mutation }

// Written are the entities that this transaction has given a new version, in
// the order of their first one.
func (t *Tx) Written() []EntityRef { return slices.Clone(t.written) }

// EntityRef names an entity of an account.
type EntityRef struct {
	Scope changelog.Scope
	Key   changelog.Key
}

// entityRow is an entity as stored: version(8) form(1) body, and with the form
// rowOrigin the length(1) and text of the origin before the body.
type entityRow struct {
	Version changelog.Seq
	Deleted bool
	// Origin is the mutation that wrote this version; empty where none did, at
	// most 255 bytes.
	Origin string
	Body   []byte
}

// Forms of a row.
const (
	rowLiving  = 0
	rowDeleted = 1
	rowOrigin  = 2
)

func (t *Tx) write(scope changelog.Scope, key changelog.Key, next entityRow) error {
	ek := entityKey(t.account, scope, key)
	old, found, err := getEntity(t.r, ek)
	if err != nil {
		return err
	}
	if !found && next.Deleted || found && old.Deleted == next.Deleted && bytes.Equal(old.Body, next.Body) {
		return nil
	}
	row, err := t.scopeRow(scope)
	if err != nil {
		return err
	}
	current := len(t.meta.Epochs) - 1
	if n := len(row.Bases); n == 0 || row.Bases[n-1].Epoch != current {
		row.Bases = append(row.Bases, changelog.Base{Epoch: current, Head: row.Head})
	}
	row.Head++
	t.scopes[scope] = row
	if found {
		if err := t.w.Delete(tabIndex, indexKey(t.account, scope, old.Version)); err != nil {
			return err
		}
	}
	next.Version = row.Head
	if ref := (EntityRef{Scope: scope, Key: key}); !slices.Contains(t.written, ref) {
		t.written = append(t.written, ref)
	}
	if err := t.w.Put(tabIndex, indexKey(t.account, scope, row.Head), append([]byte{byte(key.Kind)}, key.ID...)); err != nil {
		return err
	}
	if scope == changelog.AccountScope {
		t.Touch("account:" + t.account)
	} else {
		t.Touch("thread:" + scope.Thread)
	}
	if next.Deleted {
		gone := append(accountKey(t.account, beTime(t.now)), 0)
		gone = append(gone, ek[len(t.account)+1:]...)
		if err := t.w.Put(tabGone, gone, []byte(be(uint64(next.Version)))); err != nil {
			return err
		}
	}
	return t.w.Put(tabEntity, ek, next.marshal())
}

func (t *Tx) scopeRow(scope changelog.Scope) (scopeRow, error) {
	if row, ok := t.scopes[scope]; ok {
		return row, nil
	}
	row, _, err := getRow[scopeRow](t.r, tabScope, accountKey(t.account, scope.String()))
	return row, err
}

// History is what a cursor of a scope is judged against.
func (r *Read) History(scope changelog.Scope) (changelog.History, error) {
	row, _, err := getRow[scopeRow](r.r, tabScope, accountKey(r.account, scope.String()))
	return changelog.History{Epochs: r.meta.Epochs, Oldest: r.meta.OldestEpoch, Head: row.Head, Floor: row.Floor, Bases: row.Bases}, err
}

// AsOf is the head of a scope in this snapshot. In an update it is the head
// that the commit will have, as far as written.
func (r *Read) AsOf(scope changelog.Scope) (changelog.Position, error) {
	h, err := r.History(scope)
	return changelog.Position{Epoch: h.Current(), Seq: h.Head}, err
}

// AsOf is the head that the commit will have, as far as written: callers ask
// last, and counters that are still to be published are counted in.
func (t *Tx) AsOf(scope changelog.Scope) (changelog.Position, error) {
	if scope == changelog.AccountScope && t.counters {
		if err := publishAs(t, scope, entCounters, "counters", t.head.Counters); err != nil {
			return changelog.Position{}, err
		}
		t.counters = false
	}
	row, err := t.scopeRow(scope)
	return changelog.Position{Epoch: t.meta.current(), Seq: row.Head}, err
}

// Bounds of one page of changes.
const (
	PageEntities = 200
	PageBytes    = 256 << 10
)

// Changes reads what changed in a scope after since, at most maxBytes of
// bodies but always at least one entity.
func (r *Read) Changes(scope changelog.Scope, since changelog.Seq, maxBytes int) (changelog.Page, error) {
	h, err := r.History(scope)
	if err != nil {
		return changelog.Page{}, err
	}
	page := changelog.Page{
		AsOf: changelog.Position{Epoch: h.Current(), Seq: h.Head},
		Next: changelog.Position{Epoch: h.Current(), Seq: h.Head},
	}
	prefix := indexKey(r.account, scope, 0)
	prefix = prefix[:len(prefix)-8]
	size, last := 0, since
	var failed error
	err = r.r.Scan(tabIndex, indexKey(r.account, scope, since+1), after(prefix), func(k, v []byte) bool {
		seq := changelog.Seq(binary.BigEndian.Uint64(k[len(k)-8:]))
		key := changelog.Key{Kind: changelog.Kind(v[0]), ID: string(v[1:])}
		e, _, err := getEntity(r.r, entityKey(r.account, scope, key))
		if err != nil {
			failed = err
			return false
		}
		count := len(page.Put) + len(page.Del)
		if count > 0 && (count >= PageEntities || size+len(e.Body) > maxBytes) {
			page.More = true
			page.Next.Seq = last
			return false
		}
		last, size = seq, size+len(e.Body)
		if e.Deleted {
			page.Del = append(page.Del, changelog.Tombstone{Key: key, Version: seq})
		} else {
			page.Put = append(page.Put, changelog.Entity{Key: key, Version: seq, Origin: e.Origin, Body: bytes.Clone(e.Body)})
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return page, err
}

// Entities reads the living entities of a scope after a key in the order of
// kind and id, and says whether more follow.
func (r *Read) Entities(scope changelog.Scope, last changelog.Key, maxBytes int) (put []changelog.Entity, more bool, err error) {
	prefix := append(accountKey(r.account, scope.String()), 0)
	return r.entities(scope, prefix, last, maxBytes)
}

// EntitiesOf is Entities of one kind.
func (r *Read) EntitiesOf(scope changelog.Scope, kind changelog.Kind, last changelog.Key, maxBytes int) (put []changelog.Entity, more bool, err error) {
	return r.entities(scope, entityKey(r.account, scope, changelog.Key{Kind: kind}), last, maxBytes)
}

// entities reads what is alive under a prefix and behind a key.
func (r *Read) entities(scope changelog.Scope, prefix []byte, last changelog.Key, maxBytes int) (put []changelog.Entity, more bool, err error) {
	from, start := prefix, len(accountKey(r.account, scope.String()))+1
	if behind := append(entityKey(r.account, scope, last), 0); last != (changelog.Key{}) && bytes.Compare(behind, from) > 0 {
		from = behind
	}
	var failed error
	size := 0
	err = r.r.Scan(tabEntity, from, after(prefix), func(k, v []byte) bool {
		e, err := unmarshalEntity(v)
		if err != nil {
			failed = err
			return false
		}
		if e.Deleted {
			return true
		}
		if len(put) > 0 && (len(put) >= PageEntities || size+len(e.Body) > maxBytes) {
			more = true
			return false
		}
		size += len(e.Body)
		rest := k[start:]
		put = append(put, changelog.Entity{
			Key:     changelog.Key{Kind: changelog.Kind(rest[0]), ID: string(rest[1:])},
			Version: e.Version,
			Origin:  e.Origin,
			Body:    bytes.Clone(e.Body),
		})
		return true
	})
	if err == nil {
		err = failed
	}
	return put, more, err
}

func entityKey(account string, scope changelog.Scope, key changelog.Key) []byte {
	b := accountKey(account, scope.String())
	b = append(b, 0, byte(key.Kind))
	return append(b, key.ID...)
}

func indexKey(account string, scope changelog.Scope, seq changelog.Seq) []byte {
	return append(append(accountKey(account, scope.String()), 0), be(uint64(seq))...)
}

func getEntity(r Reader, key []byte) (entityRow, bool, error) {
	b, err := r.Get(tabEntity, key)
	if err != nil || b == nil {
		return entityRow{}, false, err
	}
	row, err := unmarshalEntity(b)
	return row, err == nil, err
}

func (e entityRow) marshal() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 9+len(e.Body)), uint64(e.Version))
	switch {
	case e.Deleted:
		return append(b, rowDeleted)
	case e.Origin != "":
		b = append(b, rowOrigin, byte(len(e.Origin)))
		return append(append(b, e.Origin...), e.Body...)
	default:
		return append(append(b, rowLiving), e.Body...)
	}
}

func unmarshalEntity(b []byte) (entityRow, error) {
	if len(b) < 9 || b[8] > rowOrigin {
		return entityRow{}, fmt.Errorf("%w: entity", ErrCorrupt)
	}
	e := entityRow{Version: changelog.Seq(binary.BigEndian.Uint64(b)), Deleted: b[8] == rowDeleted, Body: b[9:]}
	if b[8] != rowOrigin {
		return e, nil
	}
	if len(b) < 10 || len(b) < 10+int(b[9]) || b[9] == 0 {
		return entityRow{}, fmt.Errorf("%w: entity", ErrCorrupt)
	}
	end := 10 + int(b[9])
	e.Origin, e.Body = string(b[10:end]), b[end:]
	return e, nil
}
