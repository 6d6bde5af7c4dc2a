package boltstore

import (
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/guard"
	"github.com/beckon-dev/beckon/server/store/internal/sorted"
)

// overlay is what the commands of one commit have changed so far, above the
// pages of the last commit. A command writes straight into it and leaves a
// trace, by which a failed one is taken back.
type overlay struct {
	base   *reader
	tables map[store.Table]*sorted.Map // a nil value is a deleted key
	size   int                         // bytes of keys and values held
	trace  []change                    // of the command now running, oldest first
	walks  int                         // scans under way
}

// change is what a key of the overlay held before a command wrote to it.
type change struct {
	table store.Table
	key   []byte
	value []byte
	had   bool
}

func newOverlay(tx *bbolt.Tx) *overlay {
	return &overlay{base: newReader(tx), tables: make(map[store.Table]*sorted.Map)}
}

// run executes one command. On any error its changes are gone afterwards.
func (o *overlay) run(fn func(store.Writer) error) error {
	w := &writer{overlay: o}
	err := guard.Apart(func() error { return fn(w) })
	w.over = true
	if err != nil {
		o.revert()
	}
	clear(o.trace)
	o.trace = o.trace[:0]
	return err
}

func (o *overlay) revert() {
	for _, c := range slices.Backward(o.trace) {
		if c.had {
			o.set(c.table, c.key, c.value)
			continue
		}
		old, _ := o.tables[c.table].Delete(c.key)
		o.size -= len(c.key) + len(old)
	}
}

// record is set for a command: it leaves a trace.
func (o *overlay) record(table store.Table, key, value []byte) {
	old, had := o.set(table, key, value)
	o.trace = append(o.trace, change{table: table, key: key, value: old, had: had})
}

func (o *overlay) set(table store.Table, key, value []byte) (old []byte, had bool) {
	old, had = o.writable(table).Set(key, value)
	o.size += len(value) - len(old)
	if !had {
		o.size += len(key)
	}
	return old, had
}

// writable returns the changes of a table. While a scan walks them the write
// goes to a clone, so a scan shows the table as it was when the scan began.
func (o *overlay) writable(table store.Table) *sorted.Map {
	m := o.tables[table]
	switch {
	case m == nil:
		m = sorted.New()
	case o.walks > 0:
		m = m.Clone()
	default:
		return m
	}
	o.tables[table] = m
	return m
}

// hold keeps the changes as they are for a scan until the returned func.
func (o *overlay) hold() func() {
	o.walks++
	return func() { o.walks-- }
}

func (o *overlay) empty() bool {
	for _, m := range o.tables {
		if m.Len() > 0 {
			return false
		}
	}
	return true
}

// apply writes the changes to the transaction, table by table in key order.
// Afterwards nothing may be read through the overlay.
func (o *overlay) apply() error {
	for _, table := range slices.Sorted(maps.Keys(o.tables)) {
		if o.tables[table].Len() == 0 {
			continue
		}
		bucket, err := o.base.tx.CreateBucketIfNotExists(bucketName(table))
		if err != nil {
			return err
		}
		o.tables[table].Ascend(nil, nil, func(key, value []byte) bool {
			if value == nil {
				err = bucket.Delete(key)
			} else {
				err = bucket.Put(key, value)
			}
			return err == nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
