package store

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"time"
)

// Sum is the SHA-256 that names the bytes of an artifact within an account.
type Sum [32]byte

// String is the digest in hex, as files and keys are named.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// ParseSum reads what String wrote, and nothing else.
func ParseSum(text string) (s Sum, ok bool) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(s) {
		return s, false
	}
	copy(s[:], raw)
	return s, s.String() == text
}

// ErrBlobDiffers: the bytes that were written are not those of the digest.
var ErrBlobDiffers = errors.New("store: bytes differ from their digest")

// Blobs keeps the bytes of artifacts, by account and digest. It knows no rows:
// which bytes are wanted is settled above, in the account's transactions.
//
// What is there is whole: bytes come into being under their name by one Keep.
// All methods fail with ErrDiskFull where the medium has no room, and with the
// system's error otherwise; what failed may be done again.
type Blobs interface {
	// Create begins new bytes of an account.
	Create(account string) (BlobWriter, error)
	// Open reads bytes from an offset on; ErrNotFound where there are none.
	// What is open stays readable when it is removed meanwhile.
	Open(account string, sum Sum, offset uint64) (io.ReadCloser, error)
	// Size is how many bytes there are; ErrNotFound where there are none.
	Size(account string, sum Sum) (uint64, error)
	// Remove forgets bytes; those that are not there are no error.
	Remove(account string, sum Sum) error
	// RemoveUnfinished forgets what writers began and nobody ended, if it was
	// written last before a time. It returns how many there were.
	RemoveUnfinished(ctx context.Context, before time.Time) (int, error)
	// List names the bytes that were stored before a time, account by account,
	// until fn returns an error, which it returns.
	List(ctx context.Context, before time.Time, fn func(account string, sums []Sum) error) error
}

// BlobWriter is bytes on their way in. One of Keep and Discard ends it; a
// Discard after Keep does nothing.
type BlobWriter interface {
	io.Writer
	// Seal ends the writing and makes it durable, under no name yet. It fails
	// with ErrBlobDiffers when what was written has another digest.
	Seal(sum Sum) error
	// Keep gives what was sealed its name, durably, in place of what has it.
	Keep() error
	// Discard gives up and leaves nothing.
	Discard() error
}
