package replica

import (
	"bytes"
	"cmp"
	"iter"
	"slices"

	"github.com/beckon-dev/beckon/sync/changelog"
)

// View is what a client holds of one scope. It is not safe for concurrent use:
// the reader that applies pages owns it. See New and Open.
type View struct {
	entities map[changelog.Key]changelog.Entity
	// cursor is nil until the first page of a bootstrap gives one.
	cursor, horizon, epoch []byte

	bootstrapping bool
	page          []byte
	// deleted holds the versions of deletions seen while bootstrapping.
	deleted map[changelog.Key]changelog.Seq
}

// New is a view that has seen nothing and is to be bootstrapped.
func New() *View { return Open(Snapshot{Bootstrapping: true}) }

// Open is a view as it was stored.
func Open(s Snapshot) *View {
	v := &View{
		entities: make(map[changelog.Key]changelog.Entity, len(s.Entities)),
		cursor:   s.Cursor, horizon: s.Horizon, epoch: s.Epoch,
		// Without a cursor there is nothing to follow.
		bootstrapping: s.Bootstrapping || len(s.Cursor) == 0,
		page:          s.Page,
		deleted:       make(map[changelog.Key]changelog.Seq, len(s.Deleted)),
	}
	for _, e := range s.Entities {
		v.entities[e.Key] = e
	}
	for _, d := range s.Deleted {
		v.deleted[d.Key] = d.Version
	}
	return v
}

// Snapshot is the view in a form to store. A client stores it, or the part of
// it that a page has changed, in one local transaction.
func (v *View) Snapshot() Snapshot {
	s := Snapshot{
		Entities: slices.Collect(v.All()),
		Cursor:   v.cursor, Horizon: v.horizon, Epoch: v.epoch,
		Bootstrapping: v.bootstrapping, Page: v.page,
	}
	for k, version := range v.deleted {
		s.Deleted = append(s.Deleted, changelog.Tombstone{Key: k, Version: version})
	}
	slices.SortFunc(s.Deleted, func(a, b changelog.Tombstone) int { return compareKeys(a.Key, b.Key) })
	return s
}

// At is where to read changes from: the cursor of the last page applied, and
// the highest stamp applied. Both are nil until a bootstrap has begun.
func (v *View) At() (cursor, horizon []byte) { return v.cursor, v.horizon }

// Bootstrap is the token of the page to ask for, nil for the first one, and
// whether a bootstrap runs at all.
func (v *View) Bootstrap() (page []byte, running bool) { return v.page, v.bootstrapping }

// Get is one entity as held.
func (v *View) Get(k changelog.Key) (changelog.Entity, bool) {
	e, ok := v.entities[k]
	return e, ok
}

// Len is the number of entities held.
func (v *View) Len() int { return len(v.entities) }

// All is everything held, ordered by kind and id. The view must not change
// while it runs.
func (v *View) All() iter.Seq[changelog.Entity] {
	return func(yield func(changelog.Entity) bool) {
		keys := make([]changelog.Key, 0, len(v.entities))
		for k := range v.entities {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, compareKeys)
		for _, k := range keys {
			if !yield(v.entities[k]) {
				return
			}
		}
	}
}

func compareKeys(a, b changelog.Key) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
}

// put applies an entity that is newer than what is known of it.
func (v *View) put(e changelog.Entity) {
	if e.Version > v.entities[e.Key].Version && e.Version > v.deleted[e.Key] {
		v.entities[e.Key] = e
	}
}

// remove applies a deletion that is newer than what is known of the entity.
func (v *View) remove(d changelog.Tombstone) {
	if d.Version > v.entities[d.Key].Version {
		delete(v.entities, d.Key)
	}
	if v.bootstrapping {
		v.deleted[d.Key] = max(d.Version, v.deleted[d.Key])
	}
}

// see keeps the highest stamp of the epoch the view is in.
func (v *View) see(asOf, epoch []byte) {
	if !bytes.Equal(epoch, v.epoch) {
		v.epoch, v.horizon = epoch, asOf
		return
	}
	if bytes.Compare(asOf, v.horizon) > 0 {
		v.horizon = asOf
	}
}
