package sorted

import "errors"

// Bounds of every engine, wide of what the layers above allow: MaxKey is the
// longest key bbolt takes, MaxValue keeps one value from filling a group commit
// many times over.
const (
	MaxKey   = 32 << 10
	MaxValue = 64 << 20
)

// Refusals of a write. They mean a mistake in the layer above, never bad input
// of a person or agent, so nobody needs to tell them apart.
var (
	ErrNoTable    = errors.New("store engine: empty table name")
	ErrNoKey      = errors.New("store engine: empty key")
	ErrKeyLong    = errors.New("store engine: key too long")
	ErrNoValue    = errors.New("store engine: empty value")
	ErrValueLarge = errors.New("store engine: value too large")
	ErrOver       = errors.New("store engine: writer used after its command ended")
)

// CheckKey refuses a table and key no engine could store.
func CheckKey(table string, key []byte) error {
	switch {
	case table == "":
		return ErrNoTable
	case len(key) == 0:
		return ErrNoKey
	case len(key) > MaxKey:
		return ErrKeyLong
	}
	return nil
}

// CheckValue refuses a value no engine could store or tell from an absent one.
func CheckValue(value []byte) error {
	switch {
	case len(value) == 0:
		return ErrNoValue
	case len(value) > MaxValue:
		return ErrValueLarge
	}
	return nil
}
