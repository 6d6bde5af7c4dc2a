package filestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/disk"
)

const (
	folderMode = 0o700
	prefix     = "."
	suffix     = ".part"
	// listed is how many names of a folder are read at a time.
	listed = 256
)

// Options are the choices of Open. The zero value is right for production.
type Options struct {
	// Step is called before each step on the disk with its name: "create",
	// "write", "sync", "rename", "sync folder", "remove". An error of it fails
	// the step, so that a test can see the order and take the disk away.
	Step func(name string) error
}

// Files keeps blobs under a folder. It is safe for concurrent use and owns no
// goroutine.
type Files struct {
	root string
	step func(string) error
}

var _ store.Blobs = (*Files)(nil)

// Open makes the folder where it is missing. Error: store.ErrDiskFull, and the
// system's.
func Open(root string, opts Options) (*Files, error) {
	f := &Files{root: root, step: opts.Step}
	if f.step == nil {
		f.step = func(string) error { return nil }
	}
	if err := f.folder(root); err != nil {
		return nil, fmt.Errorf("filestore: open: %w", classify(err))
	}
	return f, nil
}

// folder makes one, and its name durable.
func (f *Files) folder(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(dir))
}

// classify turns what the system says into the kinds of the store. The text of
// the system names the path, which nobody outside needs.
func classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return store.ErrNotFound
	case disk.IsFull(err):
		return fmt.Errorf("%w: %w", store.ErrDiskFull, err)
	}
	return err
}

func (f *Files) path(account string, sum store.Sum) string {
	return filepath.Join(f.root, account, sum.String())
}

// Create implements store.Blobs.
func (f *Files) Create(account string) (store.BlobWriter, error) {
	dir := filepath.Join(f.root, account)
	err := f.step("create")
	if err == nil {
		err = f.folder(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("filestore: create: %w", classify(err))
	}
	file, err := os.CreateTemp(dir, prefix+"*"+suffix) // made with 0600
	if err != nil {
		return nil, fmt.Errorf("filestore: create: %w", classify(err))
	}
	return newWriter(f, dir, file), nil
}

// Open implements store.Blobs.
func (f *Files) Open(account string, sum store.Sum, offset uint64) (io.ReadCloser, error) {
	file, err := os.Open(f.path(account, sum))
	if err != nil {
		return nil, classify(err)
	}
	if _, err := file.Seek(int64(min(offset, 1<<62)), io.SeekStart); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Size implements store.Blobs.
func (f *Files) Size(account string, sum store.Sum) (uint64, error) {
	info, err := os.Stat(f.path(account, sum))
	if err != nil {
		return 0, classify(err)
	}
	return uint64(max(info.Size(), 0)), nil
}

// Remove implements store.Blobs. It syncs nothing: a file that a loss of power
// brings back has no row, and is swept as such.
func (f *Files) Remove(account string, sum store.Sum) error {
	err := f.step("remove")
	if err == nil {
		err = os.Remove(f.path(account, sum))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return classify(err)
}

// RemoveUnfinished implements store.Blobs.
func (f *Files) RemoveUnfinished(ctx context.Context, before time.Time) (int, error) {
	n := 0
	err := f.each(ctx, before, unfinished, func(account string, names []string) error {
		for _, name := range names {
			if err := os.Remove(filepath.Join(f.root, account, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			n++
		}
		return nil
	})
	return n, classify(err)
}

// List implements store.Blobs.
func (f *Files) List(ctx context.Context, before time.Time, fn func(account string, sums []store.Sum) error) error {
	return f.each(ctx, before, finished, func(account string, names []string) error {
		sums := make([]store.Sum, len(names))
		for i, name := range names {
			sums[i], _ = store.ParseSum(name)
		}
		return fn(account, sums)
	})
}

func unfinished(name string) bool {
	return strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

func finished(name string) bool {
	_, ok := store.ParseSum(name)
	return ok
}

// each gives the names in each account's folder that are of a kind and were
// written last before a time. What else lies there is not ours.
func (f *Files) each(ctx context.Context, before time.Time, of func(string) bool, fn func(account string, names []string) error) error {
	accounts, err := os.ReadDir(f.root)
	if err != nil {
		return classify(err)
	}
	for _, account := range accounts {
		if !account.IsDir() {
			continue
		}
		if err := f.inFolder(ctx, account.Name(), before, of, fn); err != nil {
			return err
		}
	}
	return nil
}

func (f *Files) inFolder(ctx context.Context, account string, before time.Time, of func(string) bool, fn func(string, []string) error) error {
	dir, err := os.Open(filepath.Join(f.root, account))
	if err != nil {
		return classify(err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := dir.ReadDir(listed)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if names := old(entries, before, of); len(names) > 0 {
			if err := fn(account, names); err != nil {
				return err
			}
		}
	}
}

// old are the names that were written last before a time. A file that went
// meanwhile is not there any more, which is what was wanted.
func old(entries []fs.DirEntry, before time.Time, of func(string) bool) []string {
	var names []string
	for _, e := range entries {
		if !of(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			names = append(names, e.Name())
		}
	}
	return names
}
