package boltstore

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/beckon-dev/beckon/server/store"
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
	case isFull(err):
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return err
}

// isFull tells whether the medium, a quota or a file size limit has no room.
// bbolt formats the cause away where it grows the file ("file resize error:
// %s"), so there the text has to do.
func isFull(err error) bool {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
		if errors.Is(err, full) || strings.Contains(err.Error(), full.Error()) {
			return true
		}
	}
	return false
}
