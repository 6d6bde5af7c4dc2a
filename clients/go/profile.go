package beckon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

var (
	// ErrNoProfile is returned where this device has not joined an account.
	ErrNoProfile = errors.New("beckon: this device has not joined an account yet")
	// ErrProfileExists is returned instead of overwriting the key of a device
	// that has joined.
	ErrProfileExists = errors.New("beckon: this profile belongs to a device that has joined already")
	// ErrProfileName is returned for a name that could leave the folder.
	ErrProfileName = errors.New("beckon: a profile is named by letters, digits, '-' and '_'")
)

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Profile is all that one installation keeps: whose it is, what it proves
// itself with, and the exchange of tokens that may be under way. It is stored
// as JSON in a file that only its owner may read; several processes share it
// under a lock.
type Profile struct {
	// Server and CAFile say how the server is reached.
	Server string `json:"server"`
	CAFile string `json:"ca_file,omitempty"`
	// ServerID, Account and Installation are what proofs are bound to.
	ServerID     string `json:"server_id"`
	Account      string `json:"account"`
	Installation string `json:"installation"`
	// Label is how the person knows this device.
	Label string `json:"label"`
	// PrivateKey is the P-256 scalar of the installation, ApprovalKey that of
	// the key whose use asks for the person; terminals have none.
	PrivateKey  []byte `json:"private_key"`
	ApprovalKey []byte `json:"approval_key,omitempty"`
	// RefreshToken is exchanged for the next pair, AccessToken is what calls
	// carry until AccessExpireTime.
	RefreshToken     string    `json:"refresh_token"`
	AccessToken      string    `json:"access_token,omitempty"`
	AccessExpireTime time.Time `json:"access_expire_time,omitzero"`
	// Attempt names an exchange that was begun and whose answer is not stored.
	Attempt string `json:"attempt,omitempty"`
}

// ConfigDir is where this program keeps profiles and keys: $BECKON_CONFIG, or
// a folder in the user's configuration.
func ConfigDir() (string, error) {
	if dir := os.Getenv("BECKON_CONFIG"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("beckon: no configuration folder, set BECKON_CONFIG: %w", err)
	}
	return filepath.Join(dir, "beckon"), nil
}

// ProfilePath is the file of a named profile; "" is "default". Errors:
// [ErrProfileName], or that no folder is known.
func ProfilePath(name string) (string, error) {
	if name == "" {
		name = "default"
	}
	if !profileName.MatchString(name) {
		return "", ErrProfileName
	}
	dir, err := ConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name+".profile.json"), nil
}

// LoadProfile reads a profile. Errors: [ErrNoProfile], [ErrReadable], and those
// of the file.
func LoadProfile(path string) (Profile, error) {
	var p Profile
	raw, err := readPrivate(path)
	if errors.Is(err, os.ErrNotExist) {
		return p, ErrNoProfile
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("beckon: %s is not a profile", path) // the text of err could quote a token
	}
	if p.Installation == "" {
		return p, ErrNoProfile // begun and never finished
	}
	return p, nil
}

// save writes the profile as a whole.
func (p Profile) save(path string) error {
	raw, err := json.MarshalIndent(p, "", "  ") //nolint:gosec // keeping the key is what the file is for
	if err != nil {
		return err
	}
	if err := writePrivate(path, append(raw, '\n')); err != nil {
		return fmt.Errorf("beckon: store profile: %w", err)
	}
	return nil
}

// reserve makes sure that a new device can be stored before it spends its
// one-use secret. What it leaves is no profile yet.
func reserve(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("beckon: store profile: %w", err)
	}
	switch _, err := LoadProfile(path); {
	case err == nil:
		return ErrProfileExists
	case errors.Is(err, ErrNoProfile):
		return Profile{}.save(path)
	default:
		return err
	}
}

// newKey draws a key and gives it with the form that is stored.
func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("beckon: new key: %w", err)
	}
	raw, err := key.Bytes()
	return key, raw, err
}

func parseKey(raw []byte) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("beckon: the key in the profile is damaged")
	}
	return key, nil
}
