package store

import "context"

// Table names one ordered keyspace. Keys of an account start with the account
// key, so one account is one contiguous range of every table.
type Table string

// Reader is one consistent picture of the engine. The slices it hands out are
// valid until the surrounding function returns and must not be changed.
type Reader interface {
	// Get returns the value under key, or nil where there is none. Stored
	// values are never empty, so nil always means absent.
	Get(table Table, key []byte) ([]byte, error)
	// Scan calls fn for each key in [from, to) in ascending byte order until
	// fn returns false. A nil to means the end of the table.
	Scan(table Table, from, to []byte, fn func(key, value []byte) bool) error
	// ScanBack is Scan in descending order over the same range.
	ScanBack(table Table, from, to []byte, fn func(key, value []byte) bool) error
}

// Writer is one command being built. Its reads see its own writes; nobody else
// does until the engine has committed.
type Writer interface {
	Reader
	// Put stores a copy of value, which must not be empty.
	Put(table Table, key, value []byte) error
	// Delete removes key; an absent key is no error.
	Delete(table Table, key []byte) error
}

// Engine is the part of a store that differs between back ends: an ordered
// keyspace with atomic, durable commands. All rules live above it.
//
// Update applies fn's writes as a whole or not at all, and returns only after
// they are durable. Commands of one account have one serial order, and a
// command sees everything committed before it. fn may run again, so it must
// touch nothing outside the writer and the variables it overwrites. An error
// of fn is returned as it is and drops its writes only, never those of a
// neighbour in the same group commit. A panic of fn reaches the caller of
// Update as an error, and the engine lives on.
//
// View runs fn on one snapshot. Both return ctx.Err() (wrapped) when the
// context ended before the command was taken up, ErrClosed after Close, and
// ErrDiskFull when the medium has no room, after which reads go on and writes
// work again as soon as there is room.
type Engine interface {
	View(ctx context.Context, account string, fn func(Reader) error) error
	Update(ctx context.Context, account string, fn func(Writer) error) error
	Close() error
}
