package boltstore_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/memstore"
	"github.com/beckon-dev/beckon/server/store/storetest"
)

// TestMain is also the child process of the kill and lock tests.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		os.Exit(childMain(dir))
	}
	goleak.VerifyTestMain(m)
}

func TestEngine(t *testing.T) {
	t.Parallel()
	storetest.RunEngine(t, harness())
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.RunStore(t, harness())
}

// TestSameAsMemory runs fixed seeds and a new one, or only that of STORE_SEED.
func TestSameAsMemory(t *testing.T) {
	t.Parallel()
	seeds := []uint64{1, 2, rand.Uint64()}
	if text := os.Getenv("STORE_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seeds = []uint64{seed}
	}
	memory := storetest.Harness{Open: func(*testing.T) store.Engine { return memstore.New() }}
	for _, seed := range seeds {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			storetest.RunDifferential(t, seed, memory, harness())
		})
	}
}

// harness gives each engine a folder of its own and finds it again for Reopen,
// after which the file must pass bbolt's own check.
func harness() storetest.Harness {
	var folders sync.Map
	in := func(t *testing.T, dir string) store.Engine {
		e := open(t, dir)
		folders.Store(store.Engine(e), dir)
		return e
	}
	return storetest.Harness{
		Open: func(t *testing.T) store.Engine { return in(t, t.TempDir()) },
		Reopen: func(t *testing.T, e store.Engine) store.Engine {
			t.Helper()
			dir, _ := folders.LoadAndDelete(e)
			if err := e.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			checkFile(t, dir.(string))
			return in(t, dir.(string))
		},
	}
}

func open(t *testing.T, dir string) *boltstore.Engine {
	t.Helper()
	e, err := boltstore.Open(dir, boltstore.Options{})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return e
}

// checkFile lets bbolt look for lost, doubly used and unreachable pages.
func checkFile(t *testing.T, dir string) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, boltstore.FileName), 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		t.Fatalf("check: %v", err)
	}
	defer db.Close() //nolint:errcheck // read only
	if err := db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			t.Errorf("check: %v", err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
