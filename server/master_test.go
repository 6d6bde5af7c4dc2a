package server_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/store"
)

// A database without its key, or with another's, must not look like a server
// that works: it would know nobody and hand out credentials of its own.
func TestMasterKey_BelongsToTheDatabase(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	open := func() error {
		cfg := server.Config{Config: config.Default(data), InProcess: true}
		s, err := server.New(t.Context(), cfg)
		if err != nil {
			return err
		}
		return s.Run(ended(t))
	}
	check(t, open())
	check(t, open())
	key := filepath.Join(data, "master.key")
	kept, err := os.ReadFile(key)
	check(t, err)

	check(t, os.Remove(key))
	if err := open(); !errors.Is(err, server.ErrNoMaster) {
		t.Error("without its key it opens with", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, os.ErrNotExist) {
		t.Error("a new key stands where the old one has to go back")
	}
	other := make([]byte, len(kept))
	other[0] = 1
	check(t, os.WriteFile(key, other, 0o600))
	if err := open(); !errors.Is(err, store.ErrForeignKey) {
		t.Error("with another key it opens with", err)
	}
	check(t, os.WriteFile(key, kept, 0o600))
	check(t, open())
}

// ended is a context that is over, so that a server opens, and closes again.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
