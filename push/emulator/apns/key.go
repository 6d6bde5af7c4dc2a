package apns

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// Key is the public side of a provider authentication key, as an app team has it
// registered with Apple (Apple: "Establishing a token-based connection to APNs").
type Key struct {
	// ID is the kid of its tokens, TeamID their iss.
	ID, TeamID string
	// Public must be on the P-256 curve.
	Public *ecdsa.PublicKey
	// Topics are the bundle ids a topic-specific key may push to, the suffixed
	// topics of those apps included; none means all of the team's.
	Topics []string
	// Envs are the environments it is good for; none means both.
	Envs []Env
}

// ErrBadKey answers a key that Apple could not have issued.
var ErrBadKey = errors.New("apns: bad provider key")

// RegisterKey makes tokens signed with the key valid from now on; a key under the
// same ID is replaced.
func (s *Server) RegisterKey(k Key) error {
	switch {
	case k.ID == "" || k.TeamID == "":
		return fmt.Errorf("%w: key ID and team ID must be set", ErrBadKey)
	case k.Public == nil || k.Public.Curve != elliptic.P256():
		return fmt.Errorf("%w: an ES256 public key must be set", ErrBadKey)
	}
	k.Topics, k.Envs = slices.Clone(k.Topics), slices.Clone(k.Envs)
	slices.Sort(k.Topics)
	slices.Sort(k.Envs)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[k.ID] = k
	return nil
}

// RevokeKey makes every later token of the key invalid on new connections; one
// that a connection has accepted stays good there, as Apple asks providers to
// close their connections after revoking a key.
func (s *Server) RevokeKey(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.keys, id)
}

func (s *Server) key(id string) (Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[id]
	return k, ok
}

func (k *Key) goodFor(env Env) bool { return len(k.Envs) == 0 || slices.Contains(k.Envs, env) }

func (k *Key) mayPush(bundle string) bool {
	return len(k.Topics) == 0 || slices.Contains(k.Topics, bundle)
}

// related tells whether the two may be used on one connection: a connection's
// first key decides between team-wide and one set of topics.
func (k *Key) related(to *Key) bool { return slices.Equal(k.Topics, to.Topics) }

// NewProviderKey makes a key pair for demos and tests: the public side to register
// and the private side in the PEM form of the .p8 file that Apple lets a team
// download once.
func NewProviderKey(keyID, teamID string) (Key, []byte, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Key{}, nil, fmt.Errorf("apns: make a provider key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, nil, fmt.Errorf("apns: make a provider key: %w", err)
	}
	p8 := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return Key{ID: keyID, TeamID: teamID, Public: &private.PublicKey}, p8, nil
}
