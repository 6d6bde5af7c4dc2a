package filestore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/internal/disk"
)

// writer is one file on its way in.
type writer struct {
	files *Files
	dir   string
	file  *os.File
	hash  hash.Hash
	sum   store.Sum
	// closed: nothing more is written. kept: it has its name.
	closed, kept bool
}

func newWriter(files *Files, dir string, file *os.File) *writer {
	return &writer{files: files, dir: dir, file: file, hash: sha256.New()}
}

// Write implements io.Writer.
func (w *writer) Write(b []byte) (int, error) {
	if err := w.files.step("write"); err != nil {
		return 0, classify(err)
	}
	n, err := w.file.Write(b)
	w.hash.Write(b[:n])
	return n, classify(err)
}

// Seal implements store.BlobWriter.
func (w *writer) Seal(sum store.Sum) error {
	if store.Sum(w.hash.Sum(nil)) != sum {
		return store.ErrBlobDiffers
	}
	w.sum = sum
	err := w.files.step("sync")
	if err == nil {
		err = w.file.Sync()
	}
	w.closed = true
	if err := errors.Join(err, w.file.Close()); err != nil {
		return fmt.Errorf("filestore: seal: %w", classify(err))
	}
	return nil
}

// Keep implements store.BlobWriter.
func (w *writer) Keep() error {
	err := w.files.step("rename")
	if err == nil {
		err = os.Rename(w.file.Name(), filepath.Join(w.dir, w.sum.String()))
	}
	if err != nil {
		return fmt.Errorf("filestore: keep: %w", classify(err))
	}
	w.kept = true
	if err = w.files.step("sync folder"); err == nil {
		err = disk.SyncFolder(w.dir)
	}
	if err != nil {
		return fmt.Errorf("filestore: keep: %w", classify(err))
	}
	return nil
}

// Discard implements store.BlobWriter.
func (w *writer) Discard() error {
	if w.kept {
		return nil
	}
	var err error
	if !w.closed {
		w.closed = true
		err = w.file.Close()
	}
	if gone := os.Remove(w.file.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
