package boltstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// smallDisk mounts a memory file system of this size for the test.
func smallDisk(t *testing.T, size int) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
		t.Skipf("cannot mount a small disk, which needs root and CAP_SYS_ADMIN: %v", err)
	}
	t.Cleanup(func() {
		// Detached: a child that another test forks may still hold a file of it.
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return root
}

// fillUp takes all room that is left and returns how to give it back.
func fillUp(t *testing.T, root string) (giveBack func()) {
	t.Helper()
	path := filepath.Join(root, "ballast")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

func rowValue(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%06d ", i), 3000) }

// addRows writes rows from first on until the disk is full and returns the next
// number.
func addRows(t *testing.T, e store.Engine, first int) (next int) {
	t.Helper()
	for i := first; ; i++ {
		err := e.Update(context.Background(), "", putRow(fmt.Sprintf("%06d", i), rowValue(i)))
		if errors.Is(err, store.ErrDiskFull) {
			return i
		}
		if err != nil || i > first+10000 {
			t.Fatalf("row %d: %v", i, err)
		}
	}
}

// expectRows: exactly the rows below next are there, whole.
func expectRows(t *testing.T, e store.Engine, next int) {
	t.Helper()
	n := 0
	if err := e.View(context.Background(), "", func(r store.Reader) error {
		return r.Scan(rows, nil, nil, func(key, value []byte) bool {
			if string(key) != fmt.Sprintf("%06d", n) || !bytes.Equal(value, rowValue(n)) {
				t.Errorf("row %s with %d bytes where %d belongs", key, len(value), n)
			}
			n++
			return true
		})
	}); err != nil {
		t.Errorf("read: %v", err)
	}
	if n != next {
		t.Errorf("%d rows, want %d", n, next)
	}
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	root := smallDisk(t, 6<<20)
	dir := filepath.Join(root, "data")
	e := open(t, dir)
	next := 0
	ballast := filepath.Join(root, "room")
	for round := range 4 { // each with less room than the last
		if err := os.WriteFile(ballast, make([]byte, (4-round)<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		start := next
		next = addRows(t, e, next)
		if next == start {
			t.Fatalf("round %d: nothing fitted", round)
		}
		if again := addRows(t, e, next); again != next { // still full, still alive
			next = again
		}
		expectRows(t, e, next)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := e.Update(context.Background(), "", putRow(fmt.Sprintf("%06d", next), rowValue(next))); err != nil {
			t.Fatalf("round %d: with room again: %v", round, err)
		}
		next++
	}
	expectRows(t, e, next)
	closeEngine(t, e)
	checkFile(t, dir)
	e = open(t, dir)
	defer closeEngine(t, e)
	expectRows(t, e, next)
}

// TestDiskFullSparesNeighbours: of one group, only the command that is too
// large for the disk fails.
func TestDiskFullSparesNeighbours(t *testing.T) {
	t.Parallel()
	root := smallDisk(t, 2<<20)
	synctest.Test(t, func(t *testing.T) {
		e := open(t, filepath.Join(root, "data"))
		defer closeEngine(t, e)
		own := errors.New("own")
		update := func(fn func(store.Writer) error, want error) func() {
			return func() {
				if err := e.Update(context.Background(), "", fn); !errors.Is(err, want) {
					t.Errorf("got %v, want %v", err, want)
				}
			}
		}
		together(t, e,
			update(putRow("000000", rowValue(0)), nil),
			update(putRow("large", make([]byte, 3<<20)), store.ErrDiskFull),
			update(func(store.Writer) error { return own }, own),
			update(func(w store.Writer) error {
				large, err := w.Get(rows, []byte("large"))
				if large != nil {
					return errors.Join(err, own)
				}
				return putRow("000001", rowValue(1))(w)
			}, nil),
		)
		expectRows(t, e, 2)
	})
}

func TestDiskFullAtOpen(t *testing.T) {
	t.Parallel()
	root := smallDisk(t, 1<<20)
	dir := filepath.Join(root, "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	giveBack := fillUp(t, root)
	if _, err := boltstore.Open(dir, boltstore.Options{}); !errors.Is(err, store.ErrDiskFull) {
		t.Fatalf("got %v", err)
	}
	giveBack()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("the failed start left %v, %v", entries, err)
	}
	e := open(t, dir)
	defer closeEngine(t, e)
	write(t, e, "k", "v")
}
