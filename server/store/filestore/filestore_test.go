package filestore_test

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/filestore"
	"github.com/beckon-dev/beckon/server/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const account = "0123456789abcdef"

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, root string, step func(string) error) *filestore.Files {
	t.Helper()
	files, err := filestore.Open(root, filestore.Options{Step: step})
	check(t, err)
	return files
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	storetest.RunBlobs(t, func(t *testing.T) (store.Blobs, func(time.Duration)) {
		root := filepath.Join(t.TempDir(), "artifacts")
		return open(t, root, nil), func(d time.Duration) {
			past := time.Now().Add(-d)
			for _, name := range files(t, root) {
				check(t, os.Chtimes(filepath.Join(root, name), past, past))
			}
		}
	})
}

// files lists what lies below a folder.
func files(t *testing.T, root string) (names []string) {
	t.Helper()
	check(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	}))
	return names
}

// TestOrder: a name that is durable has durable bytes behind it.
func TestOrder(t *testing.T) {
	t.Parallel()
	var steps []string
	blobs := open(t, t.TempDir(), func(step string) error {
		steps = append(steps, step)
		return nil
	})
	store1(t, blobs, "text")
	if diff := cmp.Diff([]string{"create", "write", "sync", "rename", "sync folder"}, steps); diff != "" {
		t.Errorf("wanted (-), done (+):\n%s", diff)
	}
}

func store1(t *testing.T, blobs store.Blobs, text string) {
	t.Helper()
	check(t, tryStore(blobs, text))
}

// tryStore stores a text as an upload does.
func tryStore(blobs store.Blobs, text string) error {
	w, err := blobs.Create(account)
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(text))
	if err == nil {
		err = w.Seal(sha256.Sum256([]byte(text)))
	}
	if err == nil {
		err = w.Keep()
	}
	return errors.Join(err, w.Discard())
}

// TestFull_R30_EveryStep takes the room away before each step in turn: it is
// told, nothing is left, and there is no restart before the next one succeeds.
func TestFull_R30_EveryStep(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"create", "write", "sync", "rename", "sync folder"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			root, full := t.TempDir(), true
			blobs := open(t, root, func(step string) error {
				if full && step == at {
					return &fs.PathError{Op: step, Path: "x", Err: syscall.ENOSPC}
				}
				return nil
			})
			if err := tryStore(blobs, "text"); !errors.Is(err, store.ErrDiskFull) {
				t.Errorf("stored: %v", err)
			}
			if left := files(t, root); at != "sync folder" && len(left) != 0 {
				t.Errorf("left: %v", left)
			}
			full = false
			check(t, tryStore(blobs, "text"))
			if left := files(t, root); len(left) != 1 {
				t.Errorf("then: %v", left)
			}
		})
	}
}

// TestForeignFiles: what an operator put there is not touched.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	blobs := open(t, root, nil)
	store1(t, blobs, "text")
	for _, name := range []string{"README", account + "/notes", account + "/.hidden", account + "/ABCDEF"} {
		check(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	later := time.Now().Add(time.Hour)
	n, err := blobs.RemoveUnfinished(t.Context(), later)
	check(t, err)
	listed := 0
	check(t, blobs.List(t.Context(), later, func(_ string, sums []store.Sum) error {
		listed += len(sums)
		return nil
	}))
	if n != 0 || listed != 1 || len(files(t, root)) != 5 {
		t.Errorf("%d removed, %d listed, there is %v", n, listed, files(t, root))
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "artifacts")
	store1(t, open(t, root, nil), "text")
	check(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		check(t, err)
		info, err := e.Info()
		check(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return nil
	}))
}
