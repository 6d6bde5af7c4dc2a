package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

const (
	folderMode     = 0o700
	fileMode       = 0o600
	artifactFolder = "artifacts"
	lockFile       = ".beckon-backup.lock"
	partPrefix     = ".beckon-"
	partSuffix     = ".part"
)

var (
	// ErrBusy: another backup is being made in the same place.
	ErrBusy = errors.New("backup: another backup is being made there")
	// ErrInside: the place is within the data folder.
	ErrInside = errors.New("backup: the place for backups is inside of the data folder")
	// ErrIncomplete: bytes that the database names are not there.
	ErrIncomplete = errors.New("backup: bytes of an artifact are missing")
)

// Source is what is copied.
type Source struct {
	// Data is the data folder.
	Data string
	// Engine is its open database.
	Engine *boltstore.Engine
	// Clock tells when the copy was taken.
	Clock func() time.Time
}

// Made is a backup that has its name.
type Made struct {
	Path     string
	Manifest Manifest
}

// Make makes a backup in a folder of its own below to. Errors: ErrBusy,
// ErrInside, ErrIncomplete, store.ErrDiskFull, and the system's.
func Make(ctx context.Context, src Source, to string) (Made, error) {
	if within(src.Data, to) {
		return Made{}, ErrInside
	}
	if err := os.MkdirAll(to, folderMode); err != nil {
		return Made{}, err
	}
	unlock, err := lock(filepath.Join(to, lockFile))
	if err != nil {
		return Made{}, err
	}
	defer unlock()
	if err := removeParts(to); err != nil {
		return Made{}, err
	}
	name := "beckon-" + src.Clock().UTC().Format("20060102T150405Z")
	var tail [4]byte
	if _, err := io.ReadFull(rand.Reader, tail[:]); err != nil {
		return Made{}, err
	}
	name += "-" + hex.EncodeToString(tail[:])
	part := filepath.Join(to, partPrefix+name+partSuffix)
	made := Made{Path: filepath.Join(to, name)}
	if made.Manifest, err = build(ctx, src, part); err != nil {
		return Made{}, errors.Join(err, os.RemoveAll(part))
	}
	failpoint.Hit("backup.built")
	if err := os.Rename(part, made.Path); err != nil {
		return Made{}, errors.Join(err, os.RemoveAll(part))
	}
	return made, syncFolder(to)
}

func build(ctx context.Context, src Source, part string) (Manifest, error) {
	m := Manifest{Format: manifestFormat}
	if err := os.Mkdir(part, folderMode); err != nil {
		return m, err
	}
	c := copier{ctx: ctx, from: filepath.Join(src.Data, artifactFolder), to: filepath.Join(part, artifactFolder), manifest: &m, have: map[string]bool{}}
	if err := c.artifacts(); err != nil {
		return m, err
	}
	failpoint.Hit("backup.artifacts")
	m.Time = src.Clock().UTC().Truncate(time.Second)
	commit, err := c.file(filepath.Join(part, boltstore.FileName), boltstore.FileName, func(w io.Writer) (uint64, error) {
		return src.Engine.Snapshot(ctx, w)
	})
	if err != nil {
		return m, err
	}
	failpoint.Hit("backup.database")
	m.Commit = commit
	// What the snapshot names came before it: once more, for what came meanwhile.
	if err := c.artifacts(); err != nil {
		return m, err
	}
	if err := c.identify(ctx, part, &m); err != nil {
		return m, err
	}
	if err := m.write(part); err != nil {
		return m, err
	}
	return m, c.syncFolders(part)
}

// identify opens the copied database, says whose it is, and holds it against
// the artifacts.
func (c *copier) identify(ctx context.Context, part string, m *Manifest) (err error) {
	engine, err := boltstore.Open(part, boltstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	server, state, err := store.Peek(ctx, engine, nil)
	if err != nil {
		return err
	}
	m.ServerID, m.Epoch, m.EpochNumber = server, hex.EncodeToString(state.Epoch[:]), state.Number
	return store.EachArtifact(ctx, engine, func(account string, sum store.Sum) error {
		if name := filepath.Join(account, sum.String()); !c.have[name] && !c.damaged[name] {
			return ErrIncomplete
		}
		return nil
	})
}

// copier copies files and keeps their digests.
type copier struct {
	ctx      context.Context
	from, to string
	manifest *Manifest
	have     map[string]bool
	// damaged are artifacts whose bytes are not those of their name.
	damaged map[string]bool
	folders []string
}

// artifacts copies what is there and was not copied yet. What goes meanwhile is
// not missed, unless the database names it.
func (c *copier) artifacts() error {
	accounts, err := os.ReadDir(c.from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, account := range accounts {
		if !account.IsDir() {
			continue
		}
		files, err := os.ReadDir(filepath.Join(c.from, account.Name()))
		if err != nil {
			return err
		}
		for _, f := range files {
			name := filepath.Join(account.Name(), f.Name())
			if _, ok := store.ParseSum(f.Name()); !ok || c.have[name] {
				continue
			}
			if err := c.artifact(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

func (c *copier) artifact(name string) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	in, err := os.Open(filepath.Join(c.from, name))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out := filepath.Join(c.to, name)
	if dir := filepath.Dir(out); len(c.folders) == 0 || c.folders[len(c.folders)-1] != dir {
		if err := os.MkdirAll(dir, folderMode); err != nil {
			return err
		}
		c.folders = append(c.folders, dir)
	}
	if _, err := c.file(out, filepath.Join(artifactFolder, name), func(w io.Writer) (uint64, error) {
		n, err := io.Copy(w, in)
		return uint64(n), err
	}); err != nil {
		return err
	}
	c.have[name] = true
	if last := c.manifest.Files[len(c.manifest.Files)-1]; last.SHA256 != filepath.Base(name) {
		if c.damaged == nil {
			c.damaged = map[string]bool{}
		}
		c.damaged[name] = true
		c.manifest.Damaged = append(c.manifest.Damaged, last.Path)
	}
	return nil
}

// file writes one file, syncs it, and notes its digest.
func (c *copier) file(path, name string, fill func(io.Writer) (uint64, error)) (uint64, error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return 0, err
	}
	hash := sha256.New()
	n, err := fill(io.MultiWriter(out, hash))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	c.manifest.Files = append(c.manifest.Files, File{Path: filepath.ToSlash(name), Size: info.Size(), SHA256: hex.EncodeToString(hash.Sum(nil))})
	return n, nil
}

func (c *copier) syncFolders(part string) error {
	var err error
	for _, dir := range c.folders {
		err = errors.Join(err, syncFolder(dir))
	}
	if len(c.folders) > 0 {
		err = errors.Join(err, syncFolder(c.to))
	}
	return errors.Join(err, syncFolder(part))
}

// removeParts removes what backups that were cut short have left. Nobody else
// builds here: the lock is held.
func removeParts(to string) error {
	entries, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), partPrefix) && strings.HasSuffix(e.Name(), partSuffix) {
			if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// lock takes a lock that ends with the process, however that ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrBusy, err), f.Close())
	}
	return func() { _ = f.Close() }, nil // which lets it go
}

// within reports whether a path is a folder or lies below it.
func within(folder, path string) bool {
	abs := func(p string) string {
		if a, err := filepath.Abs(p); err == nil {
			p = a
		}
		if followed, err := filepath.EvalSymlinks(p); err == nil {
			p = followed
		}
		return p
	}
	rel, err := filepath.Rel(abs(folder), abs(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil // some file systems cannot, and need not
	}
	return errors.Join(err, f.Close())
}
