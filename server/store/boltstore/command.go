package boltstore

import (
	"bytes"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

// writer is the overlay as one command sees it.
type writer struct {
	overlay *overlay
	over    bool
}

func (w *writer) Get(table store.Table, key []byte) ([]byte, error) {
	if w.over {
		return nil, sorted.ErrOver
	}
	if m := w.overlay.tables[table]; m != nil {
		if value, changed := m.Get(key); changed {
			return value, nil
		}
	}
	return w.overlay.base.Get(table, key)
}

func (w *writer) Scan(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	if w.over {
		return sorted.ErrOver
	}
	base := ascend(w.overlay.base.bucket(table), from, to)
	m := w.overlay.tables[table]
	if m == nil {
		walk(base, fn)
		return nil
	}
	defer w.overlay.hold()()
	merge(base, bytes.Compare, func(each pair) { m.Ascend(from, to, each) }, fn)
	return nil
}

func (w *writer) ScanBack(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	if w.over {
		return sorted.ErrOver
	}
	base := descend(w.overlay.base.bucket(table), from, to)
	m := w.overlay.tables[table]
	if m == nil {
		walk(base, fn)
		return nil
	}
	defer w.overlay.hold()()
	backward := func(a, b []byte) int { return bytes.Compare(b, a) }
	merge(base, backward, func(each pair) { m.Descend(from, to, each) }, fn)
	return nil
}

func (w *writer) Put(table store.Table, key, value []byte) error {
	if err := w.check(table, key); err != nil {
		return err
	}
	if err := sorted.CheckValue(value); err != nil {
		return err
	}
	w.overlay.record(table, bytes.Clone(key), bytes.Clone(value))
	return nil
}

func (w *writer) Delete(table store.Table, key []byte) error {
	if err := w.check(table, key); err != nil {
		return err
	}
	w.overlay.record(table, bytes.Clone(key), nil)
	return nil
}

func (w *writer) check(table store.Table, key []byte) error {
	if w.over {
		return sorted.ErrOver
	}
	return sorted.CheckKey(string(table), key)
}
