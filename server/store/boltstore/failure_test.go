package boltstore_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	other := errors.New("other")
	tests := []struct {
		err, want error
	}{
		{nil, nil},
		{other, other},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, store.ErrDiskFull},
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EDQUOT}, store.ErrDiskFull},
		// bbolt 1.5.0 hides the cause where it grows the file.
		{fmt.Errorf("file resize error: %s", &os.PathError{Op: "truncate", Path: "x", Err: syscall.EFBIG}), store.ErrDiskFull},
		{fmt.Errorf("file resize error: %s", syscall.ENOSPC), store.ErrDiskFull},
		{fmt.Errorf("file sync error: %s", syscall.EIO), nil},
		{bolterrors.ErrDatabaseNotOpen, store.ErrClosed},
		{bolterrors.ErrTimeout, store.ErrLocked},
	}
	for _, test := range tests {
		got := boltstore.Classify(test.err)
		if test.want != nil && !errors.Is(got, test.want) {
			t.Errorf("%v became %v, want %v", test.err, got, test.want)
		}
		if test.want == nil && got != nil && errors.Is(got, store.ErrDiskFull) {
			t.Errorf("%v became %v", test.err, got)
		}
	}
}
