package beckon

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrReadable is returned for a file with a secret that others may read.
var ErrReadable = errors.New("beckon: the file holds a secret and others may read it: chmod 600")

// NewID draws 130 random bits as text, for idempotency keys, claim ids, answer
// keys and attempts.
func NewID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails, says crypto/rand
	return strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(raw[:]))
}

// readPrivate reads a file that only its owner may read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the path is the configuration of whoever runs the program
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%w: %s", ErrReadable, path)
	}
	if !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return nil, fmt.Errorf("beckon: %s: not a file of ours", path)
	}
	return io.ReadAll(f)
}

// writePrivate replaces a file as a whole, on disk before it returns, readable
// by its owner only. A reader sees the old content or the new one.
func writePrivate(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // made with 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already, once it was renamed
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockFile holds a file lock, which processes and goroutines alike wait for.
type lockFile struct{ f *os.File }

// lock waits for the lock beside path. The system has no waiting that a context
// can end, so it is asked again and again.
func lock(ctx context.Context, path string) (lockFile, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return lockFile{}, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lockFile{f}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return lockFile{}, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			_ = f.Close()
			return lockFile{}, err
		}
	}
}

// unlock gives the lock back; closing the file does it.
func (l lockFile) unlock() { _ = l.f.Close() }
