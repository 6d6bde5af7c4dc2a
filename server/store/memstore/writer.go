package memstore

import (
	"bytes"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

// reader reads the tables that lookup finds; nil stands for a table nobody
// wrote yet.
type reader struct {
	lookup func(store.Table) *sorted.Map
}

func (r reader) Get(table store.Table, key []byte) ([]byte, error) {
	m := r.lookup(table)
	if m == nil {
		return nil, nil
	}
	value, _ := m.Get(key)
	return value, nil
}

func (r reader) Scan(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	if m := r.lookup(table); m != nil {
		m.Ascend(from, to, fn)
	}
	return nil
}

func (r reader) ScanBack(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	if m := r.lookup(table); m != nil {
		m.Descend(from, to, fn)
	}
	return nil
}

// writer is one command: a table is cloned at its first write, so dropping the
// writer is the rollback.
type writer struct {
	reader
	base  snapshot
	own   snapshot
	walks int // scans under way
	over  bool
}

func newWriter(base snapshot) *writer {
	w := &writer{base: base, own: snapshot{}}
	w.reader.lookup = w.table
	return w
}

func (w *writer) table(name store.Table) *sorted.Map {
	if m := w.own[name]; m != nil {
		return m
	}
	return w.base[name]
}

func (w *writer) Scan(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	w.walks++
	defer func() { w.walks-- }()
	return w.reader.Scan(table, from, to, fn)
}

func (w *writer) ScanBack(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	w.walks++
	defer func() { w.walks-- }()
	return w.reader.ScanBack(table, from, to, fn)
}

func (w *writer) Put(table store.Table, key, value []byte) error {
	if err := w.check(table, key); err != nil {
		return err
	}
	if err := sorted.CheckValue(value); err != nil {
		return err
	}
	w.writable(table).Set(bytes.Clone(key), bytes.Clone(value))
	return nil
}

func (w *writer) Delete(table store.Table, key []byte) error {
	if err := w.check(table, key); err != nil {
		return err
	}
	w.writable(table).Delete(key)
	return nil
}

func (w *writer) check(table store.Table, key []byte) error {
	if w.over {
		return sorted.ErrOver
	}
	return sorted.CheckKey(string(table), key)
}

// writable returns the command's own copy of a table. While a scan walks the
// present copy the write goes to a further one, so a scan always shows the
// table as it was when the scan began.
func (w *writer) writable(name store.Table) *sorted.Map {
	m := w.own[name]
	switch {
	case m != nil && w.walks == 0:
		return m
	case m != nil:
		m = m.Clone()
	case w.base[name] != nil:
		m = w.base[name].Clone()
	default:
		m = sorted.New()
	}
	w.own[name] = m
	return m
}

func (w *writer) end() { w.over = true }
