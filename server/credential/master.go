package credential

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// KeySize is the length of the master key and of every key derived from it.
const KeySize = 32

var (
	// ErrMasterMode is returned for a master key file that others may read.
	ErrMasterMode = errors.New("credential: the master key file must be a regular file of mode 0600 or stricter")
	// ErrMasterSize is returned for a master key file that does not hold a key.
	ErrMasterSize = errors.New("credential: the master key file must hold exactly 32 bytes")
)

// Key is key material; it prints as [redacted].
type Key struct{ raw *[KeySize]byte }

// NewKey wraps key material, or returns [ErrMasterSize]. Copying raw keeps a
// caller's buffer from changing a key in use.
func NewKey(raw []byte) (Key, error) {
	if len(raw) != KeySize {
		return Key{}, ErrMasterSize
	}
	key := [KeySize]byte(raw)
	return Key{&key}, nil
}

// Reveal gives a copy of the bytes, for the algorithm that uses them.
func (k Key) Reveal() []byte {
	if k.raw == nil {
		return nil
	}
	return append([]byte(nil), k.raw[:]...)
}

// IsZero reports a key that was never set.
func (k Key) IsZero() bool { return k.raw == nil }

// String hides the key.
func (k Key) String() string { return redacted }

// Format hides the key from every verb.
func (k Key) Format(f fmt.State, _ rune) { hide(f) }

// LogValue hides the key from slog.
func (k Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the key from encoders.
func (k Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// mac is HMAC-SHA-256 over length-prefixed parts.
func (k Key) mac(parts ...string) [sha256.Size]byte {
	h := hmac.New(sha256.New, k.Reveal())
	for _, part := range parts {
		_ = binary.Write(h, binary.BigEndian, uint32(len(part))) // a hash takes every write
		h.Write([]byte(part))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Keys are the derived keys, one per purpose, so that a leak or a swap in one
// place opens nothing else.
type Keys struct {
	// Access signs access tokens.
	Access Key
	// Tap signs tap tokens.
	Tap Key
	// Permit signs effect permits.
	Permit Key
	// Stamp authenticates sync cursors.
	Stamp Key
	// Refresh rebuilds the successor of a refresh token.
	Refresh Key
	// AccountTag makes the opaque tag of an account that pushes carry.
	AccountTag Key
	// PairingCode keys the stored hash of typed codes.
	PairingCode Key
	// Seal encrypts recoverable secrets in the store.
	Seal Key
}

// DeriveKeys derives version n of every key from the master key by
// HKDF-SHA-256 with the label "beckon/<purpose>/<n>". Versions start at 1; a
// rotation keeps the one before until its longest token is dead. The master
// key must be set ([ErrMasterSize]).
func DeriveKeys(master Key, version uint32) (Keys, error) {
	if master.IsZero() {
		return Keys{}, ErrMasterSize
	}
	var keys Keys
	for _, k := range []struct {
		purpose string
		into    *Key
	}{
		{"access", &keys.Access},
		{"tap", &keys.Tap},
		{"permit", &keys.Permit},
		{"stamp", &keys.Stamp},
		{"refresh", &keys.Refresh},
		{"account-tag", &keys.AccountTag},
		{"pairing-code", &keys.PairingCode},
		{"seal", &keys.Seal},
	} {
		label := fmt.Sprintf("beckon/%s/%d", k.purpose, version)
		raw, err := hkdf.Key(sha256.New, master.Reveal(), nil, label, KeySize)
		if err != nil {
			return Keys{}, fmt.Errorf("credential: derive %s: %w", k.purpose, err)
		}
		if *k.into, err = NewKey(raw); err != nil {
			return Keys{}, err
		}
	}
	return keys, nil
}

// LoadMaster reads the master key and refuses a file others may read or that
// is not a plain file. Errors: [ErrMasterMode], [ErrMasterSize], those of the
// file system.
func LoadMaster(path string) (Key, error) {
	file, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("master key: %w", err)
	}
	defer file.Close() //nolint:errcheck // nothing was written
	// The open file is judged, not the path, which could be swapped in between.
	info, err := file.Stat()
	if err != nil {
		return Key{}, fmt.Errorf("master key: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o177 != 0 {
		return Key{}, ErrMasterMode
	}
	raw, err := io.ReadAll(io.LimitReader(file, KeySize+1))
	if err != nil {
		return Key{}, fmt.Errorf("master key: %w", err)
	}
	return NewKey(raw)
}

// LoadOrCreateMaster is [LoadMaster], and makes the file where there is none;
// created tells the caller to ask for a backup of it. Of two processes that
// start at once both get the same key. A crash leaves the whole file or none.
func LoadOrCreateMaster(path string, random io.Reader) (key Key, created bool, err error) {
	key, err = LoadMaster(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	var raw [KeySize]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return Key{}, false, fmt.Errorf("master key: random: %w", err)
	}
	created, err = publish(path, raw[:])
	if err != nil {
		return Key{}, false, fmt.Errorf("master key: %w", err)
	}
	key, err = LoadMaster(path)
	return key, created, err
}

// publish makes a file appear at path with its whole content, or leaves the one
// that is already there.
func publish(path string, content []byte) (created bool, err error) {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, ".master-*") // made with mode 0600
	if err != nil {
		return false, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // a stray name holds nothing that path does not hold
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return false, err
	}
	// Link fails where Rename would replace a key another process just made.
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, syncFolder(dir)
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
