package boltstore_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

var updateGolden = flag.Bool("update", false, "write testdata anew")

func write(t *testing.T, e store.Engine, key, value string) {
	t.Helper()
	if err := e.Update(context.Background(), "", putRow(key, []byte(value))); err != nil {
		t.Fatalf("write: %v", err)
	}
}

func read(t *testing.T, e store.Engine, key string) (value string) {
	t.Helper()
	if err := e.View(context.Background(), "", func(r store.Reader) error {
		found, err := r.Get(rows, []byte(key))
		value = string(found)
		return err
	}); err != nil {
		t.Fatalf("read: %v", err)
	}
	return value
}

func closeEngine(t *testing.T, e store.Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	e := open(t, dir)
	write(t, e, "k", "v")
	closeEngine(t, e)
	modes := make(map[string]string)
	for _, path := range []string{dir, filepath.Join(dir, boltstore.FileName)} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		modes[filepath.Base(path)] = info.Mode().String()
	}
	want := map[string]string{"there": "drwx------", boltstore.FileName: "-rw-------"}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// TestFreeListIsSynced looks into both meta pages: without a synced free list,
// opening a large file reads all of it.
func TestFreeListIsSynced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	write(t, e, "k", "v")
	write(t, e, "k", "w")
	closeEngine(t, e)
	content := fileBytes(t, dir)
	for page := range 2 {
		// bbolt 1.5.0: page header 16 bytes, then magic, version, page size and
		// flags of 4 each, the root bucket of 16, and the free list's page.
		at := page*os.Getpagesize() + 48
		if id := binary.NativeEndian.Uint64(content[at:]); id < 2 || id > 1000 {
			t.Errorf("meta %d: free list at page %#x", page, id)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(tx *bbolt.Tx) error
		want error
	}{
		{"newer", setVersion("2"), store.ErrFormatNewer},
		{"much newer", setVersion("1000000"), store.ErrFormatNewer},
		{"not a number", setVersion("one"), boltstore.ErrForeign},
		{"zero", setVersion("0"), boltstore.ErrForeign},
		{"no record", func(tx *bbolt.Tx) error { return tx.DeleteBucket([]byte("format")) }, boltstore.ErrForeign},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			e := open(t, dir)
			write(t, e, "k", "v")
			closeEngine(t, e)
			edit(t, dir, test.edit)
			before := fileBytes(t, dir)
			if e, err := boltstore.Open(dir, boltstore.Options{}); !errors.Is(err, test.want) {
				t.Errorf("got %v, %v, want %v", e, err, test.want)
			}
			if !bytes.Equal(before, fileBytes(t, dir)) {
				t.Error("the refused file was changed")
			}
			edit(t, dir, func(*bbolt.Tx) error { return nil }) // and let go of
		})
	}
}

func TestOpenEmptyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, boltstore.FileName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		e := open(t, dir)
		write(t, e, "k", "v")
		closeEngine(t, e)
	}
}

// TestFormat1 opens a folder written when format 1 was new. Its file must never
// be replaced, only joined by those of later formats.
func TestFormat1(t *testing.T) {
	t.Parallel()
	golden := filepath.Join("testdata", "format1")
	if *updateGolden {
		writeGolden(t, golden)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(golden)); err != nil {
		t.Fatal(err)
	}
	e := open(t, dir)
	defer closeEngine(t, e)
	for i := range 20 {
		key := fmt.Sprintf("row %02d", i)
		if got := read(t, e, key); got != "written by format 1" {
			t.Errorf("%s: %q", key, got)
		}
	}
	write(t, e, "row 20", "written later")
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	write(t, e, "k", "one")
	closeEngine(t, e)

	var ran []string
	step := func(name string, err error) func(*bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			ran = append(ran, name)
			return errors.Join(tx.Bucket([]byte("table:rows")).Put([]byte("k"), []byte(name)), err)
		}
	}
	broken := errors.New("broken step")
	if _, err := boltstore.OpenFormat(dir, 3, step("two", nil), step("three", broken)); !errors.Is(err, broken) {
		t.Fatalf("got %v, want the step's error", err)
	}
	if _, err := boltstore.Open(dir, boltstore.Options{}); !errors.Is(err, store.ErrFormatNewer) {
		t.Fatalf("after a step to 2 this release says %v", err)
	}
	e, err := boltstore.OpenFormat(dir, 3, step("again", nil), step("three", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	if diff := cmp.Diff([]string{"two", "three", "three"}, ran); diff != "" {
		t.Error(diff)
	}
	if got := read(t, e, "k"); got != "three" {
		t.Errorf("content %q", got)
	}
}

func TestLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child, lines := startChild(t, dir)
	brief := boltstore.Options{LockWait: 60 * time.Millisecond}
	if _, err := boltstore.Open(dir, brief); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside another process: %v", err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until its end closes the pipe
	}
	_ = child.Wait()
	e := open(t, dir)
	if _, err := boltstore.Open(dir, brief); !errors.Is(err, store.ErrLocked) {
		t.Errorf("beside the same process: %v", err)
	}
	closeEngine(t, e)
	closeEngine(t, open(t, dir))
}

func setVersion(version string) func(*bbolt.Tx) error {
	return func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("format")).Put([]byte("version"), []byte(version))
	}
}

// edit changes the file of a closed folder. It gives up when somebody holds it.
func edit(t *testing.T, dir string, fn func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, boltstore.FileName), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		t.Fatalf("edit: %v", err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		t.Fatalf("edit: %v", err)
	}
}

func fileBytes(t *testing.T, dir string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, boltstore.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// writeGolden stores the folder compacted, which leaves out the room a growing
// file takes ahead.
func writeGolden(t *testing.T, golden string) {
	t.Helper()
	dir := t.TempDir()
	e := open(t, dir)
	for i := range 20 {
		write(t, e, fmt.Sprintf("row %02d", i), "written by format 1")
	}
	closeEngine(t, e)
	if err := os.MkdirAll(golden, 0o755); err != nil {
		t.Fatal(err)
	}
	from, err := bbolt.Open(filepath.Join(dir, boltstore.FileName), 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(golden, boltstore.FileName)
	_ = os.Remove(path)
	to, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: 4096})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(bbolt.Compact(to, from, 0), to.Close(), from.Close()); err != nil {
		t.Fatal(err)
	}
}
