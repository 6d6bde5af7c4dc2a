package fcm

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
)

// ServiceAccount is the public side of an identity that may ask for access tokens,
// as a project has it registered with Google.
type ServiceAccount struct {
	// Email is the iss of its assertions, KeyID their kid.
	Email, KeyID string
	// Project is where it belongs.
	Project string
	Public  *rsa.PublicKey
	// Projects are those it may send to; none means its own.
	Projects []string
}

// ErrBadAccount answers a service account that Google could not have issued.
var ErrBadAccount = errors.New("fcm: bad service account")

// NewServiceAccount makes an account with a new key for a project.
func NewServiceAccount(project string) (ServiceAccount, *rsa.PrivateKey, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return ServiceAccount{}, nil, fmt.Errorf("fcm: make a service account: %w", err)
	}
	return ServiceAccount{
		Email: "sender-" + randomHex(4) + "@" + project + ".iam.gserviceaccount.com",
		KeyID: randomHex(20), Project: project, Public: &key.PublicKey,
	}, key, nil
}

// RegisterAccount makes assertions of the account valid from now on; an account of
// the same email is replaced, which is how its key is rotated. Its project exists
// from then on. The error is ErrBadAccount.
func (s *Server) RegisterAccount(a ServiceAccount) error {
	if a.Email == "" || a.KeyID == "" || a.Project == "" || a.Public == nil {
		return fmt.Errorf("%w: email, key ID, project and public key must be set", ErrBadAccount)
	}
	a.Projects = slices.Clone(a.Projects)
	if len(a.Projects) == 0 {
		a.Projects = []string{a.Project}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects[a.Project] = true
	s.accounts[a.Email] = a
	return nil
}

// RevokeAccount deletes an account: it gets no further access token and those it
// has are no longer good.
func (s *Server) RevokeAccount(email string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.accounts, email)
	for token, g := range s.access {
		if g.email == email {
			delete(s.access, token)
		}
	}
}

// Credentials writes an account as the JSON file that Google lets a team download,
// with token_uri at this emulator. A Google client that is given it fetches its
// access tokens here.
func (s *Server) Credentials(a ServiceAccount, key *rsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("fcm: encode the key: %w", err)
	}
	return json.MarshalIndent(map[string]string{
		"type":            "service_account",
		"project_id":      a.Project,
		"private_key_id":  a.KeyID,
		"private_key":     string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email":    a.Email,
		"client_id":       "100000000000000000000",
		"auth_uri":        "https://accounts.google.com/o/oauth2/auth",
		"token_uri":       s.TokenURL(),
		"universe_domain": "googleapis.com",
	}, "", "  ")
}

// Issue makes, registers and writes an account in one step, for demos; "" means
// the project of the Config.
func (s *Server) Issue(project string) ([]byte, error) {
	a, key, err := NewServiceAccount(cmp.Or(project, s.project))
	if err != nil {
		return nil, err
	}
	if err := s.RegisterAccount(a); err != nil {
		return nil, err
	}
	return s.Credentials(a, key)
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // documented never to fail
	return hex.EncodeToString(b)
}
