package boltstore_test

import (
	"context"
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

// TestFailedCommit takes the file away from a running engine: what was
// acknowledged stays readable, and nothing is acknowledged any more.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var file *os.File
	e, err := boltstore.Open(dir, boltstore.Options{
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, e, "k", "acknowledged")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := e.Update(context.Background(), "", putRow("k", []byte("lost")))
		if !errors.Is(err, boltstore.ErrWritesStopped) || errors.Is(err, store.ErrDiskFull) {
			t.Errorf("write: %v", err)
		}
		if got := read(t, e, "k"); got != "acknowledged" {
			t.Errorf("read %q", got)
		}
	}
	if err := e.Close(); err == nil {
		t.Error("closing a lost file reports nothing")
	}
	e = open(t, dir)
	defer closeEngine(t, e)
	if got := read(t, e, "k"); got != "acknowledged" {
		t.Errorf("after opening again: %q", got)
	}
}
