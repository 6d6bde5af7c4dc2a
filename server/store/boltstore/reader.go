package boltstore

import (
	"bytes"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

// tablePrefix keeps table names apart from the buckets of the file itself.
const tablePrefix = "table:"

func bucketName(table store.Table) []byte { return []byte(tablePrefix + string(table)) }

// reader reads committed pages. A bucket that is not there is an empty table.
type reader struct {
	tx      *bbolt.Tx
	buckets map[store.Table]*bbolt.Bucket
}

func newReader(tx *bbolt.Tx) *reader {
	return &reader{tx: tx, buckets: make(map[store.Table]*bbolt.Bucket)}
}

func (r *reader) bucket(table store.Table) *bbolt.Bucket {
	b, known := r.buckets[table]
	if !known {
		b = r.tx.Bucket(bucketName(table))
		r.buckets[table] = b
	}
	return b
}

func (r *reader) Get(table store.Table, key []byte) ([]byte, error) {
	if b := r.bucket(table); b != nil {
		return b.Get(key), nil
	}
	return nil, nil
}

func (r *reader) Scan(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	walk(ascend(r.bucket(table), from, to), fn)
	return nil
}

func (r *reader) ScanBack(table store.Table, from, to []byte, fn func(key, value []byte) bool) error {
	walk(descend(r.bucket(table), from, to), fn)
	return nil
}

// step returns the next pair of a range, or nil at its end, after which it
// must not be called again.
type step func() (key, value []byte)

func walk(next step, fn func(key, value []byte) bool) {
	for key, value := next(); key != nil; key, value = next() {
		if !fn(key, value) {
			return
		}
	}
}

func nothing() (key, value []byte) { return nil, nil }

func ascend(b *bbolt.Bucket, from, to []byte) step {
	if b == nil {
		return nothing
	}
	cursor := b.Cursor()
	move := func() ([]byte, []byte) { return cursor.Seek(from) }
	return func() (key, value []byte) {
		key, value = move()
		move = cursor.Next
		if key == nil || !sorted.Below(key, to) {
			return nil, nil
		}
		return key, value
	}
}

// descend needs clean pages: a cursor of bbolt going back stops early at a leaf
// emptied in the same transaction. Changes therefore wait in the overlay and
// reach the transaction only when no command reads it any more.
func descend(b *bbolt.Bucket, from, to []byte) step {
	if b == nil {
		return nothing
	}
	cursor := b.Cursor()
	move := func() ([]byte, []byte) { return seekBelow(cursor, to) }
	return func() (key, value []byte) {
		key, value = move()
		move = cursor.Prev
		if key == nil || bytes.Compare(key, from) < 0 {
			return nil, nil
		}
		return key, value
	}
}

// seekBelow goes to the last key before to.
func seekBelow(cursor *bbolt.Cursor, to []byte) (key, value []byte) {
	if to == nil {
		return cursor.Last()
	}
	if key, _ := cursor.Seek(to); key == nil {
		return cursor.Last() // every key is before to
	}
	return cursor.Prev()
}
