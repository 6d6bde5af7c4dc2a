package boltstore_test

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// brittleFile opens an engine whose file can be made unwritable under it.
type brittleFile struct{ file, spare *os.File }

func (b *brittleFile) open(t *testing.T, dir string) *boltstore.Engine {
	t.Helper()
	e, err := boltstore.Open(dir, boltstore.Options{
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			b.file, err = os.OpenFile(name, flag, mode)
			return b.file, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// fail puts a read-only file in the place of the engine's.
func (b *brittleFile) fail(t *testing.T) {
	t.Helper()
	fd, err := syscall.Dup(int(b.file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	b.spare = os.NewFile(uintptr(fd), "spare")
	other, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close() //nolint:errcheck // its copy stays
	b.replace(t, other)
}

// mend puts the engine's own file back.
func (b *brittleFile) mend(t *testing.T) {
	t.Helper()
	b.replace(t, b.spare)
	if err := b.spare.Close(); err != nil {
		t.Fatal(err)
	}
}

func (b *brittleFile) replace(t *testing.T, with *os.File) {
	t.Helper()
	if err := syscall.Dup3(int(with.Fd()), int(b.file.Fd()), syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
}

// TestFailedCommit: after a commit that failed for an unknown reason nothing is
// acknowledged any more, even when the file seems well again, and what was
// acknowledged before stays readable.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b brittleFile
	e := b.open(t, dir)
	write(t, e, "k", "acknowledged")
	refuse := func(when string) {
		err := e.Update(context.Background(), "", putRow("k", []byte("lost")))
		if !errors.Is(err, boltstore.ErrWritesStopped) || errors.Is(err, store.ErrDiskFull) {
			t.Errorf("%s: %v", when, err)
		}
		if got := read(t, e, "k"); got != "acknowledged" {
			t.Errorf("%s: read %q", when, got)
		}
	}
	b.fail(t)
	refuse("at once")
	refuse("later")
	b.mend(t)
	refuse("well again")
	closeEngine(t, e)
	checkFile(t, dir)
	e = open(t, dir)
	defer closeEngine(t, e)
	if got := read(t, e, "k"); got != "acknowledged" {
		t.Errorf("after opening again: %q", got)
	}
	write(t, e, "k", "goes on")
}

// TestFailedCommitVoidsRefusals: a command that refused because of a change
// which then was not committed must not say so.
func TestFailedCommitVoidsRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b brittleFile
		e := b.open(t, t.TempDir())
		defer closeEngine(t, e)
		b.fail(t)
		defer b.mend(t)
		own := errors.New("own")
		update := func(fn func(store.Writer) error) func() {
			return func() {
				err := e.Update(context.Background(), "", fn)
				if !errors.Is(err, boltstore.ErrWritesStopped) || errors.Is(err, own) {
					t.Errorf("got %v", err)
				}
			}
		}
		let := make(chan struct{})
		go update(func(w store.Writer) error { <-let; return putRow("k", []byte("v"))(w) })()
		synctest.Wait()
		go update(func(store.Writer) error { return own })()
		synctest.Wait()
		close(let)
		synctest.Wait()
	})
}
