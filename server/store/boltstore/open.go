package boltstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.etcd.io/bbolt"

	"github.com/beckon-dev/beckon/server/store/internal/disk"
)

// FileName is the database inside the data folder.
const FileName = "beckon.db"

const (
	folderMode = 0o700
	fileMode   = 0o600
	lockWait   = time.Second
)

// Options are the choices of Open. The zero value is right for production.
type Options struct {
	// LockWait bounds the wait for another process to let go of the folder;
	// 0 means one second, long enough for a predecessor that is closing.
	LockWait time.Duration
	// OpenFile replaces os.OpenFile, so that a test can hold the very file the
	// engine writes to.
	OpenFile func(name string, flag int, mode os.FileMode) (*os.File, error)
	// Committed is told the number of each commit, before anybody hears of what
	// was in it. It must not block.
	Committed func(id uint64)
}

// Open opens the data folder dir, making it when it is missing, and starts the
// writer goroutine, which Close ends. It fails with store.ErrLocked,
// store.ErrFormatNewer, store.ErrDiskFull or ErrForeign, and with the system's
// error otherwise; a failed Open leaves the folder ready for the next try.
func Open(dir string, opts Options) (*Engine, error) {
	return open(dir, opts, current())
}

func open(dir string, opts Options, layout format) (*Engine, error) {
	path := filepath.Join(dir, FileName)
	if err := prepare(dir, path, layout); err != nil {
		return nil, fmt.Errorf("boltstore: create: %w", classify(err))
	}
	settings := settings()
	settings.OpenFile = opts.OpenFile
	if opts.LockWait > 0 {
		settings.Timeout = opts.LockWait
	}
	db, err := bbolt.Open(path, fileMode, settings)
	if err != nil {
		return nil, fmt.Errorf("boltstore: open: %w", classify(err))
	}
	if err := layout.settle(db); err != nil {
		return nil, errors.Join(classify(err), db.Close())
	}
	e := &Engine{db: db, queue: newQueue(), stopped: make(chan struct{}), committed: opts.Committed}
	if e.committed == nil {
		e.committed = func(uint64) {}
	}
	go e.write()
	return e, nil
}

// settings keep every commit synced, and the free list too: without it, opening
// a large file reads all of it.
func settings() *bbolt.Options {
	s := &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType}
	if strconv.IntSize == 64 {
		// Address space, not memory: growing the map has to wait for every
		// view, so the map starts large.
		s.InitialMmapSize = 1 << 30
	}
	return s
}

// prepare makes folder and database where they are missing. The database is
// built under another name and linked into place complete, so a full disk or a
// crash on the first start leaves no half of one.
func prepare(dir, path string, layout format) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(dir, ".beckon-*.new")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name()) //nolint:errcheck // gone, or harmless
	if err := fresh.Close(); err != nil {
		return err
	}
	if err := build(fresh.Name(), layout); err != nil {
		return err
	}
	if err := place(fresh.Name(), path); err != nil {
		return err
	}
	return errors.Join(disk.SyncFolder(dir), disk.SyncFolder(filepath.Dir(dir)))
}

func build(path string, layout format) error {
	settings := settings()
	settings.InitialMmapSize = 0 // keeps the new file small
	db, err := bbolt.Open(path, fileMode, settings)
	if err != nil {
		return err
	}
	return errors.Join(layout.settle(db), db.Close())
}

// place links, because a link never replaces what another process put there
// first; then that one is as good. Where the file system has no links it
// renames.
func place(fresh, path string) error {
	err := os.Link(fresh, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if disk.IsFull(err) {
		return err
	}
	return os.Rename(fresh, path)
}
