package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/store/boltstore"
)

const (
	manifestFile   = "manifest.json"
	manifestFormat = 1
)

// ErrBad: the folder is not a whole backup; the text says which file is at
// fault.
var ErrBad = errors.New("backup: not a whole backup")

// Manifest says what a backup is.
type Manifest struct {
	Format int `json:"format"`
	// Time is when the database was copied.
	Time     time.Time `json:"time"`
	ServerID string    `json:"server_id"`
	// Epoch, in hex, is the history that it is of, and EpochNumber its number.
	Epoch       string `json:"epoch"`
	EpochNumber uint64 `json:"epoch_number"`
	// Commit is the number of the last commit in it.
	Commit uint64 `json:"commit"`
	Files  []File `json:"files"`
	// Damaged are artifacts whose bytes were not those of their name already
	// where they were copied from.
	Damaged []string `json:"damaged,omitempty"`
}

// File is one file of a backup.
type File struct {
	// Path is relative to the backup, with slashes.
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Bytes is the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

func (m Manifest) write(folder string) error {
	raw, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, manifestFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// Verify reads a backup, every byte of it. Errors: ErrBad, and the system's.
func Verify(ctx context.Context, folder string) (Manifest, error) {
	var m Manifest
	raw, err := os.ReadFile(filepath.Join(folder, manifestFile))
	if errors.Is(err, os.ErrNotExist) {
		return m, fmt.Errorf("%w: it has no %s", ErrBad, manifestFile)
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Format < 1 {
		return m, fmt.Errorf("%w: %s cannot be read", ErrBad, manifestFile)
	}
	if m.Format > manifestFormat {
		return m, fmt.Errorf("%w: it was made by a newer beckond", ErrBad)
	}
	if !slices.ContainsFunc(m.Files, func(f File) bool { return f.Path == boltstore.FileName }) {
		return m, fmt.Errorf("%w: it names no database", ErrBad)
	}
	for _, f := range m.Files {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return m, fmt.Errorf("%w: %s names a file outside of it", ErrBad, manifestFile)
		}
		sum, err := digest(filepath.Join(folder, filepath.FromSlash(f.Path)))
		if err != nil {
			return m, err
		}
		if sum != f.SHA256 {
			return m, fmt.Errorf("%w: %s is not what it was", ErrBad, f.Path)
		}
	}
	return m, nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Close())
}
