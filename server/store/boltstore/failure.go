package boltstore

import (
	"errors"
	"fmt"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/disk"
)

// classify turns what bbolt and the system say into the kinds of the store.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bolterrors.ErrDatabaseNotOpen):
		return store.ErrClosed
	case errors.Is(err, bolterrors.ErrTimeout):
		return store.ErrLocked
	case disk.IsFull(err):
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return err
}
