package server_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/backup"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// lived opens a server on a folder, lets it write, and closes it; what it logged.
func lived(t *testing.T, data string, write bool) (string, error) {
	t.Helper()
	var log bytes.Buffer
	s, err := server.New(t.Context(), server.Config{
		Config: config.Default(data), InProcess: true, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		return log.String(), err
	}
	if write {
		_, err = s.App().CreateClaimLink(t.Context(), policy.Principal{Kind: policy.Operator}, app.CreateClaimLink{})
		check(t, err)
	}
	return log.String(), s.Run(ended(t))
}

func epochOf(t *testing.T, data string) uint64 {
	t.Helper()
	engine, err := boltstore.Open(data, boltstore.Options{})
	check(t, err)
	_, state, err := store.Peek(t.Context(), engine, nil)
	check(t, errors.Join(err, engine.Close()))
	return state.Number
}

// A database that stands before what was handed out was taken back: the start
// says so loudly and begins an epoch, once. A start after any other end does
// not, and neither does one whose journal is new.
func TestWitness_UnnoticedRestoreIsNoticedAtTheStart(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(data, boltstore.FileName)
	for range 2 {
		if log, err := lived(t, data, true); err != nil || strings.Contains(log, "level=ERROR") {
			t.Fatalf("%v, %s", err, log)
		}
	}
	old, err := os.ReadFile(file)
	check(t, err)
	_, err = lived(t, data, true)
	check(t, err)
	if n := epochOf(t, data); n != 1 {
		t.Fatalf("epoch %d before anything", n)
	}
	check(t, os.WriteFile(file, old, 0o600))
	for _, loud := range []bool{true, false, false} {
		log, err := lived(t, data, false)
		if check(t, err); strings.Contains(log, "level=ERROR") != loud || loud != strings.Contains(log, "unnoticed_restore") {
			t.Errorf("wanted an alarm: %v, logged %s", loud, log)
		}
		if n := epochOf(t, data); n != 2 {
			t.Errorf("epoch %d", n)
		}
	}
	// Back to the same file once more: another epoch, with another number.
	check(t, os.WriteFile(file, old, 0o600))
	_, err = lived(t, data, false)
	if check(t, err); epochOf(t, data) != 3 {
		t.Errorf("epoch %d", epochOf(t, data))
	}
	check(t, os.RemoveAll(data+".journal"))
	check(t, os.WriteFile(file, old, 0o600))
	log, err := lived(t, data, false)
	if check(t, err); !strings.Contains(log, "the journal is new") || strings.Contains(log, "level=ERROR") {
		t.Errorf("without a journal: %s", log)
	}
}

// What keeps a server from starting, in the operator's words.
func TestWitness_Refused(t *testing.T) {
	t.Parallel()
	data, other := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "data")
	for _, d := range []string{data, other} {
		_, err := lived(t, d, true)
		check(t, err)
	}
	mark := filepath.Join(data, backup.MarkFile)
	check(t, os.WriteFile(mark, nil, 0o600))
	_, err := lived(t, data, false)
	why, ok := errors.AsType[*server.StartError](err)
	if !ok || why.Flag != "--data" || !strings.Contains(why.Problem, "cut short") {
		t.Errorf("in the midst of a restore: %v", err)
	}
	check(t, os.Remove(mark))
	check(t, os.Rename(data+".journal", data+".mine"))
	check(t, os.Rename(other+".journal", data+".journal"))
	_, err = lived(t, data, false)
	if why, ok = errors.AsType[*server.StartError](err); !ok || why.Flag != "--journal" || !strings.Contains(why.Problem, "another server") {
		t.Errorf("with another's journal: %v", err)
	}
	check(t, os.WriteFile(filepath.Join(data+".journal", "witness"), []byte("x"), 0o600))
	_, err = lived(t, data, false)
	if why, ok = errors.AsType[*server.StartError](err); !ok || why.Flag != "--journal" || !strings.Contains(why.Problem, "damaged") {
		t.Errorf("with a damaged one: %v", err)
	}
}

// Operators who take the folder back by other means say so themselves.
func TestNewEpoch(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	_, err := lived(t, data, true)
	check(t, err)
	c := config.Default(data)
	state, err := server.NewEpoch(t.Context(), c, false)
	if check(t, err); state.Number != 2 {
		t.Errorf("epoch %d", state.Number)
	}
	log, err := lived(t, data, false)
	if check(t, err); strings.Contains(log, "level=ERROR") || epochOf(t, data) != 2 {
		t.Errorf("epoch %d, logged %s", epochOf(t, data), log)
	}
	if _, err := server.NewEpoch(t.Context(), config.Default(t.TempDir()), false); err == nil {
		t.Error("an epoch of nothing")
	}
}
