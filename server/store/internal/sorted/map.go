// Package sorted is the ordered map behind the engines: the tables of the
// memory engine, and the not yet written changes of the file engine.
package sorted

import (
	"bytes"

	"github.com/google/btree"
)

// degree holds most commands in one node and keeps a copied node small.
const degree = 32

type entry struct{ key, value []byte }

// Map holds byte keys in ascending order. It keeps the slices it is given, so
// the engines copy what comes from a caller. Any number of goroutines may read
// one Map while none changes it; a clone may change meanwhile.
type Map struct{ tree *btree.BTreeG[entry] }

// New returns an empty Map.
func New() *Map {
	return &Map{tree: btree.NewG(degree, func(a, b entry) bool { return bytes.Compare(a.key, b.key) < 0 })}
}

// Clone returns an independent Map at once; nodes are copied when either side
// changes them. Clone itself needs the exclusion a change needs.
func (m *Map) Clone() *Map { return &Map{tree: m.tree.Clone()} }

// Len is the number of keys.
func (m *Map) Len() int { return m.tree.Len() }

// Get returns the value under key and whether there is one; a value may be nil.
func (m *Map) Get(key []byte) (value []byte, ok bool) {
	found, ok := m.tree.Get(entry{key: key})
	return found.value, ok
}

// Set puts value under key and returns what was there before.
func (m *Map) Set(key, value []byte) (old []byte, had bool) {
	before, had := m.tree.ReplaceOrInsert(entry{key: key, value: value})
	return before.value, had
}

// Delete removes key and returns what was there before.
func (m *Map) Delete(key []byte) (old []byte, had bool) {
	before, had := m.tree.Delete(entry{key: key})
	return before.value, had
}

// Ascend calls fn for the keys in [from, to) in ascending order until fn
// returns false. A nil to means no upper end. The Map must not change meanwhile.
func (m *Map) Ascend(from, to []byte, fn func(key, value []byte) bool) {
	m.tree.AscendGreaterOrEqual(entry{key: from}, func(e entry) bool {
		return Below(e.key, to) && fn(e.key, e.value)
	})
}

// Descend is Ascend over the same range from its end.
func (m *Map) Descend(from, to []byte, fn func(key, value []byte) bool) {
	step := func(e entry) bool {
		if !Below(e.key, to) {
			return true // to itself, where the descent starts
		}
		return bytes.Compare(e.key, from) >= 0 && fn(e.key, e.value)
	}
	if to == nil {
		m.tree.Descend(step)
		return
	}
	m.tree.DescendLessOrEqual(entry{key: to}, step)
}

// Below tells whether key lies before the upper end to, where nil is no end.
func Below(key, to []byte) bool { return to == nil || bytes.Compare(key, to) < 0 }
