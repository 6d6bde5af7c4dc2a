package credential_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/credential"
)

func TestMasterFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := credential.LoadMaster(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want no such file", err)
	}
	first, created, err := credential.LoadOrCreateMaster(path, rand.Reader)
	if err != nil || !created {
		t.Fatalf("created %v, %v", created, err)
	}
	again, created, err := credential.LoadOrCreateMaster(path, rand.Reader)
	if err != nil || created || !bytes.Equal(first.Reveal(), again.Reveal()) {
		t.Fatalf("the second start made another key: created %v, %v", created, err)
	}
	info := must(os.Stat(path))(t)
	if info.Mode().Perm() != 0o600 || info.Size() != credential.KeySize {
		t.Errorf("mode %v, size %d", info.Mode(), info.Size())
	}
	if left := must(os.ReadDir(filepath.Dir(path)))(t); len(left) != 1 {
		t.Errorf("stray files: %v", left)
	}
}

func TestMasterFileRefused(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{9}, credential.KeySize)
	for name, test := range map[string]struct {
		mode    fs.FileMode
		content []byte
		want    error
	}{
		"owner":       {0o600, key, nil},
		"read only":   {0o400, key, nil},
		"group":       {0o640, key, credential.ErrMasterMode},
		"others":      {0o604, key, credential.ErrMasterMode},
		"write group": {0o620, key, credential.ErrMasterMode},
		"executable":  {0o700, key, credential.ErrMasterMode},
		"empty":       {0o600, nil, credential.ErrMasterSize},
		"short":       {0o600, key[1:], credential.ErrMasterSize},
		"line end":    {0o600, append(bytes.Clone(key), '\n'), credential.ErrMasterSize},
	} {
		path := filepath.Join(t.TempDir(), "master.key")
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, created, err := credential.LoadOrCreateMaster(path, rand.Reader)
		if !errors.Is(err, test.want) || created {
			t.Errorf("%s: got %v, created %v, want %v", name, err, created, test.want)
		}
		if got := must(os.ReadFile(path))(t); !bytes.Equal(got, test.content) {
			t.Errorf("%s: the refused file was changed", name)
		}
	}
	if _, err := credential.LoadMaster(t.TempDir()); !errors.Is(err, credential.ErrMasterMode) {
		t.Errorf("folder: %v", err)
	}
	if _, _, err := credential.LoadOrCreateMaster(filepath.Join(t.TempDir(), "no", "key"), rand.Reader); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if _, _, err := credential.LoadOrCreateMaster(path, bytes.NewReader(key[1:])); err == nil {
		t.Error("a short random source made a key")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a failed creation left a file")
	}
}

func TestMasterFileMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	var wg sync.WaitGroup
	var mu sync.Mutex
	keys, makers := map[string]bool{}, 0
	for range 16 {
		wg.Go(func() {
			key, created, err := credential.LoadOrCreateMaster(path, rand.Reader)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			}
			keys[string(key.Reveal())] = true
			if created {
				makers++
			}
		})
	}
	wg.Wait()
	if len(keys) != 1 || makers != 1 {
		t.Errorf("%d keys by %d makers", len(keys), makers)
	}
}

func TestDeriveKeys(t *testing.T) {
	t.Parallel()
	raw := make([]byte, credential.KeySize)
	master := must(credential.NewKey(raw))(t)
	seen := map[string]string{}
	for version := range uint32(3) {
		keys := must(credential.DeriveKeys(master, version))(t)
		for name, key := range map[string]credential.Key{
			"access": keys.Access, "tap": keys.Tap, "permit": keys.Permit, "stamp": keys.Stamp, "refresh": keys.Refresh,
			"account-tag": keys.AccountTag, "pairing-code": keys.PairingCode, "seal": keys.Seal,
		} {
			text := string(key.Reveal())
			if len(text) != credential.KeySize || seen[text] != "" {
				t.Errorf("%s of version %d is short or equals %s", name, version, seen[text])
			}
			seen[text] = name
		}
	}
	// HKDF-SHA-256, zero key, no salt, info "beckon/access/1", by another
	// implementation: a change here would end every session at an upgrade.
	want := "c7a5a27aa41c99d21941c7a72639efed88976141cb25680c5843fc57f9349f9d"
	keys := must(credential.DeriveKeys(master, 1))(t)
	if diff := cmp.Diff(want, hex.EncodeToString(keys.Access.Reveal())); diff != "" {
		t.Error(diff)
	}
	raw[0], keys.Access.Reveal()[0] = 1, 1
	if master.Reveal()[0] != 0 {
		t.Error("a key changes with its source")
	}
	if _, err := credential.DeriveKeys(credential.Key{}, 1); !errors.Is(err, credential.ErrMasterSize) {
		t.Errorf("no master key: %v", err)
	}
	if _, err := credential.NewKey(raw[1:]); !errors.Is(err, credential.ErrMasterSize) {
		t.Errorf("short key: %v", err)
	}
}
