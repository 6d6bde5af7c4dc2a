package boltstore

import (
	"errors"
	"fmt"
	"strconv"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
)

// ErrForeign refuses a database that holds something but no format record: it
// was not written by Beckon, so it is left alone.
var ErrForeign = errors.New("boltstore: the data folder holds a database of another program")

var (
	formatBucket = []byte("format")
	versionKey   = []byte("version")
)

// format is the layout this release writes, and the way to it from each older
// one: steps[0] leads from version 1 to 2. A step runs in the transaction that
// also moves the version, so it happens as a whole or not at all.
type format struct {
	version int
	steps   []func(*bbolt.Tx) error
}

// current is the layout of this release. Version 1: a bucket "table:<name>"
// for each table, and the bucket "format" with the version in decimal.
func current() format { return format{version: 1} }

// settle brings an opened database to this format: a fresh one is stamped, an
// older one migrated, a newer or foreign one refused and left as it is.
func (f format) settle(db *bbolt.DB) error {
	version, err := readVersion(db)
	if err != nil {
		return err
	}
	if version > f.version {
		return fmt.Errorf("%w: folder %d, this release %d", store.ErrFormatNewer, version, f.version)
	}
	if version == 0 {
		return db.Update(func(tx *bbolt.Tx) error { return writeVersion(tx, f.version) })
	}
	for ; version < f.version; version++ {
		err := db.Update(func(tx *bbolt.Tx) error {
			if err := f.steps[version-1](tx); err != nil {
				return fmt.Errorf("boltstore: migrate from format %d: %w", version, err)
			}
			return writeVersion(tx, version+1)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readVersion returns 0 for a database without any content.
func readVersion(db *bbolt.DB) (version int, err error) {
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket(formatBucket)
		if bucket == nil {
			if first, _ := tx.Cursor().First(); first != nil {
				return ErrForeign
			}
			return nil
		}
		version, err = strconv.Atoi(string(bucket.Get(versionKey)))
		if err != nil || version < 1 {
			return ErrForeign
		}
		return nil
	})
	return version, err
}

func writeVersion(tx *bbolt.Tx, version int) error {
	bucket, err := tx.CreateBucketIfNotExists(formatBucket)
	if err != nil {
		return err
	}
	return bucket.Put(versionKey, strconv.AppendInt(nil, int64(version), 10))
}
