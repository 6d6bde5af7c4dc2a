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
)

const (
	// masterFile lies beside the database and in no backup of it.
	masterFile = "master.key"
	folderMode = 0o700
	// keyVersion is of the derived keys; a rotation will raise it.
	keyVersion = 1
)

// openStore opens the data folder and the store in it.
func openStore(ctx context.Context, cfg Config) (*store.Store, error) {
	if err := os.MkdirAll(cfg.Data, folderMode); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	engine := cfg.Engine
	if engine == nil {
		var err error
		if engine, err = boltstore.Open(cfg.Data, boltstore.Options{}); err != nil {
			return nil, err
		}
	}
	st, err := store.Open(ctx, engine, store.Config{Clock: cfg.Clock})
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return st, nil
}

// openKeys reads the master key, or makes it on the first start.
func openKeys(cfg Config) (credential.Keys, error) {
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
		Epoch:  st.EpochCount, Now: cfg.Clock, Random: rand.Reader,
	})
}
