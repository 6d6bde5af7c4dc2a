package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/filestore"
	"github.com/beckon-dev/beckon/server/store/journal"
)

const (
	// masterFile lies beside the database and in no backup of it.
	masterFile = "master.key"
	// artifactFolder holds the bytes of artifacts; their rows are in the database.
	artifactFolder = "artifacts"
	folderMode     = 0o700
	// keyVersion is of the derived keys; a rotation will raise it.
	keyVersion = 1
)

// openStore opens the store in the data folder and holds it against the keys and
// the journal. A caller that hands in its own engine has no journal.
func (s *Server) openStore(ctx context.Context, keys credential.Keys) error {
	engine := s.cfg.Engine
	if engine == nil {
		var err error
		witness := func(id uint64) { s.journal.Committed(id) } // opened before the first commit
		if s.bolt, err = boltstore.Open(s.cfg.Data, boltstore.Options{Committed: witness}); err != nil {
			return err
		}
		if s.journal, err = journal.Open(s.cfg.JournalFolder()); err != nil {
			return errors.Join(journalError(s.cfg.JournalFolder(), err), s.bolt.Close())
		}
		engine = s.bolt
	}
	var err error
	if s.store, err = store.Open(ctx, engine, store.Config{Clock: s.cfg.Clock, KeyCheck: keyCheck(keys)}); err != nil {
		return errors.Join(err, engine.Close())
	}
	if s.bolt == nil {
		return nil
	}
	return s.holdAgainstWitness(ctx)
}

// openBlobs opens the folder of the artifacts beside the database.
func openBlobs(cfg Config) (store.Blobs, error) {
	if cfg.Blobs != nil {
		return cfg.Blobs, nil
	}
	return filestore.Open(filepath.Join(cfg.Data, artifactFolder), filestore.Options{})
}

// ErrNoMaster: there is a database but not its key. A new key would make a
// server that looks right and knows nobody.
var ErrNoMaster = errors.New("the data folder has a database but no master.key: put the key back that was backed up apart from it")

// openKeys reads the master key, or makes it on the first start.
func openKeys(cfg Config) (credential.Keys, error) {
	if err := os.MkdirAll(cfg.Data, folderMode); err != nil {
		return credential.Keys{}, fmt.Errorf("data folder: %w", err)
	}
	// A caller that hands in its own engine may have just made the file; the
	// store still holds the key against what it was written with.
	old := cfg.Engine == nil && exists(filepath.Join(cfg.Data, boltstore.FileName))
	if old && !exists(filepath.Join(cfg.Data, masterFile)) {
		return credential.Keys{}, ErrNoMaster
	}
	master, _, err := credential.LoadOrCreateMaster(filepath.Join(cfg.Data, masterFile), rand.Reader)
	if err != nil {
		return credential.Keys{}, err
	}
	return credential.DeriveKeys(master, keyVersion)
}

// logKey is derived once more, so that the tags of a log say nothing about any
// other key.
func logKey(keys credential.Keys) []byte {
	h := hmac.New(sha256.New, keys.AccountTag.Reveal())
	h.Write([]byte("beckon/log/1"))
	return h.Sum(nil)
}

// audience is whom our own tokens are for.
const audience = "beckon"

func newIssuer(cfg Config, st *store.Store, keys credential.Keys) (*auth.Issuer, error) {
	return auth.NewIssuer(auth.Config{
		Name: st.ServerID(), Audience: audience,
		Access: auth.KeyRing{Current: auth.SigningKey{ID: "access-1", Key: keys.Access}},
		Tap:    auth.KeyRing{Current: auth.SigningKey{ID: "tap-1", Key: keys.Tap}},
		Permit: auth.SigningKey{ID: "permit-1", Key: keys.Permit},
		Epoch:  st.EpochNumber, Now: cfg.Clock, Random: rand.Reader,
	})
}

// keyCheck tells one master key from another and nothing else about it.
func keyCheck(keys credential.Keys) []byte {
	h := hmac.New(sha256.New, keys.AccountTag.Reveal())
	h.Write([]byte("beckon/master-check/1"))
	return h.Sum(nil)
}

// exists reports whether there is anything under a path; what cannot be looked
// at is there, so that nothing is made in its place.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
