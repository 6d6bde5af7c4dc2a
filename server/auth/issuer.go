package auth

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/beckon-dev/beckon/server/credential"
)

const (
	accessLife = 10 * time.Minute
	leastLife  = 5 * time.Minute
	mostLife   = 15 * time.Minute
	maxKeyID   = 64
)

// SigningKey is a key and the name by which a token says which one it was.
type SigningKey struct {
	// ID is the kid: 1–64 characters of a–z, A–Z, 0–9, "-", "_".
	ID string
	// Key is 32 bytes, derived for this purpose alone.
	Key credential.Key
}

// KeyRing holds the key that signs and, while its tokens live, the one before.
// To rotate, build a new ring with both; to drop a key at once, leave it out.
type KeyRing struct {
	// Current signs and verifies.
	Current SigningKey
	// Previous only verifies; its ID is empty where there is none.
	Previous SigningKey
}

func (r KeyRing) find(kid string) (credential.Key, bool) {
	switch {
	case kid == "":
		return credential.Key{}, false
	case kid == r.Current.ID:
		return r.Current.Key, true
	case kid == r.Previous.ID:
		return r.Previous.Key, true
	default:
		return credential.Key{}, false
	}
}

func (r KeyRing) keys() []SigningKey {
	if r.Previous.ID == "" && r.Previous.Key.IsZero() {
		return []SigningKey{r.Current}
	}
	return []SigningKey{r.Current, r.Previous}
}

// Config is what an [Issuer] works with.
type Config struct {
	// Name of this server: iss of an access token.
	Name string
	// Audience is aud of an access token.
	Audience string
	// Access and Tap are the keys of the two profiles, all different.
	Access, Tap KeyRing
	// Permit is the seed of the Ed25519 key that signs effect permits. Its public
	// half is published, since those who read permits are other programs.
	Permit SigningKey
	// AccessLife is how long an access token lives: 5–15 minutes, 10 by default.
	AccessLife time.Duration
	// Epoch gives the current auth epoch of the store; it only grows.
	Epoch func() uint64
	// Now gives the time.
	Now func() time.Time
	// Random makes the ids of tap tokens.
	Random io.Reader
}

// Issuer mints and verifies Beckon's own tokens. It never changes, so any
// number of goroutines may use it as far as Config.Random may be; a rotation
// builds a new one.
type Issuer struct {
	cfg    Config
	access profile
	tap    profile
}

// NewIssuer refuses with [ErrConfig] what would be unsafe: a missing name,
// clock or key, one key for two purposes, a life outside its bounds.
func NewIssuer(cfg Config) (*Issuer, error) {
	if cfg.AccessLife == 0 {
		cfg.AccessLife = accessLife
	}
	switch {
	case !goodText(cfg.Name):
		return nil, fmt.Errorf("%w: name", ErrConfig)
	case !goodText(cfg.Audience):
		return nil, fmt.Errorf("%w: audience", ErrConfig)
	case cfg.AccessLife < leastLife || cfg.AccessLife > mostLife:
		return nil, fmt.Errorf("%w: access life", ErrConfig)
	case cfg.Epoch == nil || cfg.Now == nil || cfg.Random == nil:
		return nil, fmt.Errorf("%w: epoch, clock or random source", ErrConfig)
	}
	ids, keys := map[string]bool{}, map[string]bool{}
	for _, key := range slices.Concat(cfg.Access.keys(), cfg.Tap.keys(), []SigningKey{cfg.Permit}) {
		raw := string(key.Key.Reveal())
		if !goodKeyID(key.ID) || key.Key.IsZero() || ids[key.ID] || keys[raw] {
			return nil, fmt.Errorf("%w: keys", ErrConfig)
		}
		ids[key.ID], keys[raw] = true, true
	}
	return &Issuer{cfg: cfg, access: accessProfile(), tap: tapProfile()}, nil
}

func goodKeyID(id string) bool {
	if id == "" || len(id) > maxKeyID {
		return false
	}
	for _, c := range id {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// header is exactly what the reader accepts.
type header struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

// mint writes and signs a token.
func (r KeyRing) mint(typ string, body any) (credential.Secret, error) {
	head, err := json.Marshal(header{algorithm, r.Current.ID, typ})
	if err != nil {
		return credential.Secret{}, fmt.Errorf("auth: mint: %w", err)
	}
	payload, err := json.Marshal(body)
	if err != nil {
		return credential.Secret{}, fmt.Errorf("auth: mint: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(head) + "." + encode(payload)
	sum, err := jwt.SigningMethodHS256.Sign(signed, r.Current.Key.Reveal())
	if err != nil {
		return credential.Secret{}, fmt.Errorf("auth: mint: %w", err)
	}
	token := signed + "." + encode(sum)
	if len(token) > maxToken {
		return credential.Secret{}, fmt.Errorf("%w: token too long", ErrGrant)
	}
	return credential.NewSecret(token), nil
}

// second cuts a time to what a token can say.
func second(t time.Time) time.Time { return t.Truncate(time.Second).UTC() }
