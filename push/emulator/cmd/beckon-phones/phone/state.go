package phone

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// State is what the app keeps in the phone's storage. On a real phone the keys
// never leave the secure hardware; here they lie in a file of the demo.
type State struct {
	// Server is the base URL, ServerCA the PEM roots to trust for it; empty
	// means the system's.
	Server   string `json:"server,omitempty"`
	ServerCA string `json:"server_ca,omitempty"`
	// ServerID, Account and Installation are what proofs are bound to.
	ServerID     string `json:"server_id,omitempty"`
	Account      string `json:"account,omitempty"`
	Installation string `json:"installation,omitempty"`
	// InstallKey and ApprovalKey are private keys in PKCS #8.
	InstallKey  []byte `json:"install_key,omitempty"`
	ApprovalKey []byte `json:"approval_key,omitempty"`
	// Refresh is the refresh token, Attempt the name of the exchange that is
	// under way: it is stored before it is sent.
	Refresh string `json:"refresh,omitempty"`
	Attempt string `json:"attempt,omitempty"`
	// AccountTag is what pushes for this account carry.
	AccountTag string `json:"account_tag,omitempty"`
	// Badge is the newest one applied.
	Badge Badge `json:"badge"`
}

// Badge is the absolute number with its version; see PROTOCOL.md §7.
type Badge struct {
	Count   int    `json:"count"`
	Epoch   string `json:"epoch,omitempty"`
	Version uint64 `json:"version,omitempty"`
}

// newer reports whether b takes the place of held.
func (b Badge) newer(held Badge) bool { return b.Epoch != held.Epoch || b.Version >= held.Version }

// Paired reports whether the app belongs to an account.
func (s State) Paired() bool { return s.Installation != "" }

// File is a State in a file that only its owner may read.
type File string

// Load reads the state; a file that is not there is an empty one.
func (f File) Load() (State, error) {
	var s State
	raw, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		return s, fmt.Errorf("phone: read state: %w", err)
	}
	return s, nil
}

// Save replaces the file at once and whole: a phone that is killed in between
// comes back with the old state or the new one.
func (f File) Save(s State) error {
	raw, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = replaceFile(string(f), append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("phone: write state: %w", err)
	}
	return nil
}

func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".state-*") // 0600 by contract
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(tmp.Name()))
	}
	return err
}

// newKey makes a P-256 key and its stored form.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("phone: make a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("phone: make a key: %w", err)
	}
	return key, der, nil
}

func parseKey(der []byte) (*ecdsa.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("phone: stored key: %w", err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("phone: stored key: not an EC key")
	}
	return private, nil
}

// randomText is a name nobody can guess, for attempts and answer keys.
func randomText() string { return rand.Text() }
