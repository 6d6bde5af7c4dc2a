package backup_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/backup"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const account = "0123456789abcdef"

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder is a data folder with a store, an artifact and secrets beside them.
type folder struct {
	data, journal, to string
	engine            *boltstore.Engine
	store             *store.Store
	server            string
}

var key = []byte("a check of the master key")

func newFolder(t *testing.T) *folder {
	t.Helper()
	dir := t.TempDir()
	f := &folder{data: filepath.Join(dir, "data"), journal: filepath.Join(dir, "data.journal"), to: filepath.Join(dir, "backups")}
	log, err := journal.Open(f.journal)
	check(t, err)
	f.engine, err = boltstore.Open(f.data, boltstore.Options{Committed: log.Committed})
	check(t, err)
	f.store, err = store.Open(t.Context(), f.engine, store.Config{KeyCheck: key})
	check(t, err)
	t.Cleanup(func() { check(t, f.store.Close()) })
	f.server = f.store.ServerID()
	f.put(t, "one")
	commit, err := f.engine.CommitID()
	check(t, err)
	check(t, log.Set(journal.Witness{ServerID: f.server, Epoch: f.store.Epoch(), Number: 1, Commit: commit}))
	check(t, log.Close()) // as of a server that has stopped
	for _, name := range []string{"master.key", "admin.sock", "other"} {
		check(t, os.WriteFile(filepath.Join(f.data, name), []byte("secret"), 0o600))
	}
	return f
}

// put stores bytes and the row that promises them.
func (f *folder) put(t *testing.T, text string) store.Sum {
	t.Helper()
	sum := store.Sum(sha256.Sum256([]byte(text)))
	dir := filepath.Join(f.data, "artifacts", account)
	check(t, os.MkdirAll(dir, 0o700))
	check(t, os.WriteFile(filepath.Join(dir, sum.String()), []byte(text), 0o600))
	_, err := f.store.Update(t.Context(), account, func(tx *store.Tx) error {
		return tx.PutArtifact(uint64(len(text)), store.ArtifactRef{Sum: sum, Task: "tsk"})
	})
	check(t, err)
	return sum
}

func (f *folder) make(t *testing.T) backup.Made {
	t.Helper()
	made, err := backup.Make(t.Context(), backup.Source{Data: f.data, Engine: f.engine, Clock: time.Now}, f.to)
	check(t, err)
	return made
}

// elsewhere is a restore of a backup into a fresh folder.
func (f *folder) elsewhere(t *testing.T, from string) backup.Restore {
	t.Helper()
	return backup.Restore{From: from, Data: t.TempDir(), Journal: f.journal, KeyCheck: key}
}

// A backup has the database and the artifacts, and nothing else of the folder;
// restored, it holds what was there, in a new epoch that is witnessed.
func TestMake_RestoredElsewhere(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	made := f.make(t)
	f.put(t, "after the backup")
	var names []string
	check(t, filepath.WalkDir(made.Path, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
			raw, err := os.ReadFile(path)
			if check(t, err); bytes.Contains(raw, []byte("secret")) {
				t.Errorf("%s has a secret", path)
			}
		}
		return err
	}))
	if len(names) != 3 || made.Manifest.ServerID != f.server || len(made.Manifest.Files) != 2 {
		t.Errorf("backup of %v: %+v", names, made.Manifest)
	}
	r := f.elsewhere(t, made.Path)
	out, err := r.Run(t.Context())
	check(t, err)
	if out.State.Number != 2 || len(out.State.Known) != 2 || !out.State.CopyTime.Equal(made.Manifest.Time) {
		t.Errorf("restored: %+v", out.State)
	}
	log, err := journal.Open(f.journal)
	check(t, err)
	w, _ := log.Witness()
	check(t, log.Close())
	engine, err := boltstore.Open(r.Data, boltstore.Options{})
	check(t, err)
	st, err := store.Open(t.Context(), engine, store.Config{KeyCheck: key})
	check(t, err)
	commit, err := engine.CommitID()
	if err != nil || w.Epoch != st.Epoch() || w.Commit != commit || w.Number != 2 {
		t.Errorf("witnessed %+v, the store is at %d in %v, %v", w, commit, st.Epoch(), err)
	}
	n := 0
	check(t, store.EachArtifact(t.Context(), engine, func(a string, sum store.Sum) error {
		n++
		_, err := os.Stat(filepath.Join(r.Data, "artifacts", a, sum.String()))
		return err
	}))
	if n != 1 || st.ServerID() != f.server {
		t.Errorf("%d artifacts of %s", n, st.ServerID())
	}
	check(t, st.Close())
	if _, err := r.Run(t.Context()); !errors.Is(err, backup.ErrOccupied) {
		t.Errorf("over a database: %v", err)
	}
}

// What is put back where a restore was cut short, at whatever point, is whole.
func TestRestore_RunAgain(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	made := f.make(t)
	r := f.elsewhere(t, made.Path)
	check(t, os.WriteFile(filepath.Join(r.Data, backup.MarkFile), nil, 0o600))
	check(t, os.WriteFile(filepath.Join(r.Data, boltstore.FileName), []byte("half"), 0o600))
	check(t, os.MkdirAll(filepath.Join(r.Data, ".restore"), 0o700))
	check(t, os.WriteFile(filepath.Join(r.Data, ".restore", boltstore.FileName), []byte("half"), 0o600))
	_, err := r.Run(t.Context())
	check(t, err)
	engine, err := boltstore.Open(r.Data, boltstore.Options{})
	check(t, err)
	_, state, err := store.Peek(t.Context(), engine, key)
	if check(t, err); state.Number != 2 {
		t.Errorf("epoch %d", state.Number)
	}
	check(t, engine.Close())
	left, err := os.ReadDir(r.Data)
	check(t, err)
	if len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// A backup of which any file was changed, cut or lost is refused, and nothing
// of it is put anywhere.
func TestRestore_NotWhole(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	pristine := f.make(t)
	for name, harm := range map[string]func(dir string) error{
		"a byte of the database":    func(dir string) error { return flip(filepath.Join(dir, boltstore.FileName)) },
		"an artifact that is gone":  func(dir string) error { return os.RemoveAll(filepath.Join(dir, "artifacts")) },
		"no manifest":               func(dir string) error { return os.Remove(filepath.Join(dir, "manifest.json")) },
		"a manifest without files":  func(dir string) error { return edit(dir, func(m *backup.Manifest) { m.Files = nil }) },
		"a newer manifest":          func(dir string) error { return edit(dir, func(m *backup.Manifest) { m.Format = 9 }) },
		"a file outside of the dir": func(dir string) error { return edit(dir, func(m *backup.Manifest) { m.Files[0].Path = "../x" }) },
	} {
		dir := filepath.Join(t.TempDir(), "b")
		check(t, os.CopyFS(dir, os.DirFS(pristine.Path)))
		check(t, harm(dir))
		r := f.elsewhere(t, dir)
		if _, err := r.Run(t.Context()); !errors.Is(err, backup.ErrBad) {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadDir(r.Data); err != nil || len(left) != 0 {
			t.Errorf("%s left %v, %v", name, left, err)
		}
	}
}

func flip(path string) error {
	raw, err := os.ReadFile(path)
	if err == nil {
		raw[len(raw)/2] ^= 1
		err = os.WriteFile(path, raw, 0o600)
	}
	return err
}

func edit(dir string, change func(*backup.Manifest)) error {
	path := filepath.Join(dir, "manifest.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var m backup.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return err
	}
	change(&m)
	if raw, err = json.Marshal(m); err != nil {
		return err
	}
	return os.WriteFile(path, raw, 0o600)
}

// What a restore refuses, it leaves as it was.
func TestRestore_Refused(t *testing.T) {
	t.Parallel()
	f, stranger := newFolder(t), newFolder(t)
	made := f.make(t)
	for name, c := range map[string]struct {
		change func(*backup.Restore)
		is     error
	}{
		"another key":                {func(r *backup.Restore) { r.KeyCheck = []byte("another") }, store.ErrForeignKey},
		"no journal":                 {func(r *backup.Restore) { r.Journal += ".none" }, backup.ErrNoJournal},
		"another server's journal":   {func(r *backup.Restore) { r.Journal = stranger.journal }, backup.ErrOtherServer},
		"a database that is in use":  {func(r *backup.Restore) { r.Data = f.data }, backup.ErrOccupied},
		"a folder that is no backup": {func(r *backup.Restore) { r.From = f.to }, backup.ErrBad},
	} {
		r := f.elsewhere(t, made.Path)
		fresh := r.Data
		c.change(&r)
		if _, err := r.Run(t.Context()); !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
		left, err := os.ReadDir(fresh)
		check(t, err)
		for _, e := range left {
			if e.Name() != "artifacts" { // which no database names, and the server sweeps
				t.Errorf("%s left %s", name, e.Name())
			}
		}
	}
	lost := f.elsewhere(t, made.Path)
	lost.Journal, lost.JournalLost = filepath.Join(t.TempDir(), "new"), true
	out, err := lost.Run(t.Context())
	if check(t, err); out.State.Number < 10 {
		t.Errorf("without a journal the epoch is %d, which a lost one may have been", out.State.Number)
	}
}

// Where a backup does not belong, or one is being made, none is made; what one
// that was cut short has left, goes.
func TestMake_Place(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	src := backup.Source{Data: f.data, Engine: f.engine, Clock: time.Now}
	if _, err := backup.Make(t.Context(), src, filepath.Join(f.data, "backups")); !errors.Is(err, backup.ErrInside) {
		t.Errorf("inside: %v", err)
	}
	cut := filepath.Join(f.to, ".beckon-20270101T000000Z-00000000.part")
	check(t, os.MkdirAll(cut, 0o700))
	check(t, os.WriteFile(filepath.Join(cut, boltstore.FileName), []byte("half"), 0o600))
	f.make(t)
	entries, err := os.ReadDir(f.to)
	check(t, err)
	whole := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".part") {
			t.Errorf("left %s", e.Name())
		}
		if strings.HasPrefix(e.Name(), "beckon-") {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("%d backups", whole)
	}
}

// Bytes that the database promises and that are not there are told; those that
// are damaged are copied as they are, and named.
func TestMake_ArtifactsMissingAndDamaged(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	sum := f.put(t, "two")
	path := filepath.Join(f.data, "artifacts", account, sum.String())
	check(t, flip(path))
	made := f.make(t)
	if len(made.Manifest.Damaged) != 1 || !strings.HasSuffix(made.Manifest.Damaged[0], sum.String()) {
		t.Errorf("damaged: %v", made.Manifest.Damaged)
	}
	check(t, os.Remove(path))
	_, err := backup.Make(t.Context(), backup.Source{Data: f.data, Engine: f.engine, Clock: time.Now}, f.to)
	if !errors.Is(err, backup.ErrIncomplete) {
		t.Errorf("missing: %v", err)
	}
}

// Backups are made while commands go on: each is whole, and holds what was
// committed before it began.
func TestMake_WhileCommandsGoOn(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	stop, ended := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				ended <- n
				return
			default:
				f.put(t, time.Now().String())
				n++
			}
		}
	}()
	for range 5 {
		before, err := f.engine.CommitID()
		check(t, err)
		made := f.make(t)
		if made.Manifest.Commit < before {
			t.Errorf("the backup is of commit %d, begun after %d", made.Manifest.Commit, before)
		}
		_, err = backup.Verify(t.Context(), made.Path)
		check(t, err)
	}
	close(stop)
	t.Log(<-ended, "commands meanwhile")
}
