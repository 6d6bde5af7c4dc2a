package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	check(t, err)
	t.Cleanup(func() { check(t, j.Close()) })
	return j
}

// again is a new process on the same folder.
func again(t *testing.T, j *journal.Journal, dir string) *journal.Journal {
	t.Helper()
	check(t, j.Close())
	return open(t, dir)
}

// Two servers would witness for each other.
func TestOpen_ForOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	if _, err := journal.Open(dir); !errors.Is(err, store.ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	again(t, j, dir)
}

var (
	phone  = store.Revocation{Account: "acc", Kind: store.RevokedInstallation, ID: "ins_1"}
	agent  = store.Revocation{Account: "acc", Kind: store.RevokedLink, ID: "agt_1"}
	theirs = store.Revocation{Account: "other", Kind: store.RevokedKey, ID: "key_1"}
)

// The last word on each right counts, also after a start.
func TestRevoked_LastWord(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "j")
	j := open(t, dir)
	relinked := agent
	relinked.Undone = true
	check(t, j.Record([]store.Revocation{agent, theirs}))
	check(t, j.Record([]store.Revocation{relinked, phone}))
	for range 2 {
		if diff := cmp.Diff([]store.Revocation{phone}, j.Revoked("acc")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]store.Revocation{theirs}, j.Revoked("other")); diff != "" {
			t.Error(diff)
		}
		j = again(t, j, dir)
	}
}

// Half of a last line is what a crash has left; anything else that cannot be
// read is damage.
func TestOpen_CutAndDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, err := journal.Open(dir)
	check(t, err)
	check(t, j.Record([]store.Revocation{phone}))
	check(t, j.Set(journal.Witness{ServerID: "srv_1", Commit: 7}))
	check(t, j.Close())
	path := filepath.Join(dir, "revocations")
	whole, err := os.ReadFile(path)
	check(t, err)
	check(t, os.WriteFile(path, append(whole, whole[:20]...), 0o600))
	j, err = journal.Open(dir)
	check(t, err)
	check(t, j.Record([]store.Revocation{agent}))
	check(t, j.Close())
	j, err = journal.Open(dir)
	check(t, err)
	if got := len(j.Revoked("acc")); got != 2 {
		t.Errorf("%d revocations after half a line", got)
	}
	check(t, j.Close())
	for _, name := range []string{"revocations", "witness"} {
		was, err := os.ReadFile(filepath.Join(dir, name))
		check(t, err)
		bad := append([]byte("x"), was...)
		check(t, os.WriteFile(filepath.Join(dir, name), bad, 0o600))
		if _, err := journal.Open(dir); !errors.Is(err, journal.ErrDamaged) {
			t.Errorf("%s damaged: %v", name, err)
		}
		check(t, os.WriteFile(filepath.Join(dir, name), was, 0o600))
	}
}

// The witness goes forward with commits, and back only where it is set.
func TestWitness(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := open(t, dir)
	j.Committed(3)
	if _, known := j.Witness(); known || !journal.Exists(dir) {
		t.Errorf("known %v before anything was said", known)
	}
	w := journal.Witness{ServerID: "srv_1", Epoch: [16]byte{1, 2}, Number: 4, Commit: 10}
	check(t, j.Set(w))
	for _, id := range []uint64{9, 12, 11} {
		j.Committed(id)
	}
	w.Commit = 12
	for range 2 {
		if got, known := j.Witness(); !known || got != w {
			t.Errorf("witnessed %+v, want %+v", got, w)
		}
		j = again(t, j, dir)
	}
	w.Commit = 2
	check(t, j.Set(w))
	if got, _ := again(t, j, dir).Witness(); got != w {
		t.Errorf("set back: %+v", got)
	}
}
