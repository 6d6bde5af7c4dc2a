package beckon

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Person is one installation of a person: a device that reads and answers. Its
// calls carry an access token that is renewed when it is about to end. It is
// safe for concurrent use, also by several processes over one profile.
type Person struct {
	*API

	tokens *tokenSource
	// plain carries other credentials over the same connections.
	plain func(credentials) *API
	key   *ecdsa.PrivateKey
	who   Profile

	server, caFile string
}

// OpenPerson opens the profile of a device that has joined. Server and CAFile
// of opts, where set, stand before those of the profile. Errors: those of
// [LoadProfile], and of a server that cannot be meant.
func OpenPerson(path string, opts Options) (*Person, error) {
	p, err := LoadProfile(path)
	if err != nil {
		return nil, err
	}
	return openPerson(path, p, opts)
}

func openPerson(path string, p Profile, opts Options) (*Person, error) {
	if opts.Server == "" {
		opts.Server = p.Server
	}
	if opts.CAFile == "" {
		opts.CAFile = p.CAFile
	}
	key, err := parseKey(p.PrivateKey)
	if err != nil {
		return nil, err
	}
	transport, conns, err := opts.transport()
	if err != nil {
		return nil, err
	}
	plain := func(c credentials) *API { return newAPI(transport, conns, opts.Retry, c) }
	tokens := &tokenSource{path: path, key: key, held: p, exchange: plain(anonymous{}).Tokens.RefreshToken}
	return &Person{API: plain(tokens), tokens: tokens, plain: plain, key: key, who: p, server: opts.Server, caFile: opts.CAFile}, nil
}

// AccountID is the account's id.
func (p *Person) AccountID() string { return p.who.Account }

// InstallationID is this device's id.
func (p *Person) InstallationID() string { return p.who.Installation }

// ServerID is the name of the server, which proofs are bound to.
func (p *Person) ServerID() string { return p.who.ServerID }

// Refresh exchanges the refresh token now, whatever the access token's age.
// Programs need it only to learn early that they have been revoked.
func (p *Person) Refresh(ctx context.Context) error {
	_, err := p.tokens.renew(ctx, p.tokens.current().AccessToken)
	return err
}

// Elevate proves by the approval key that the person is there; account changes
// are allowed for the next minutes. The caller has asked the person. Errors:
// [ErrNoApprovalKey], [*Error].
func (p *Person) Elevate(ctx context.Context) error {
	key, err := p.approvalKey()
	if err != nil {
		return err
	}
	nonce := NewID()
	signature, err := proof.SignElevate(key, proof.ElevateTuple{
		ServerID: p.who.ServerID, Account: p.who.Account, Installation: p.who.Installation, Nonce: nonce,
	})
	if err != nil {
		return err
	}
	_, err = p.Tokens.Elevate(ctx, &v1.ElevateRequest{Nonce: nonce, Proof: signature})
	return err
}

// ErrNoApprovalKey is returned where a device has no key whose use asks for the
// person; a terminal never has one.
var ErrNoApprovalKey = errors.New("beckon: this device has no approval key")

func (p *Person) approvalKey() (*ecdsa.PrivateKey, error) {
	if len(p.who.ApprovalKey) == 0 {
		return nil, ErrNoApprovalKey
	}
	return parseKey(p.who.ApprovalKey)
}

// tokenSource keeps the access token of one profile good.
type tokenSource struct {
	path     string
	key      *ecdsa.PrivateKey
	exchange func(context.Context, *v1.RefreshTokenRequest) (*v1.RefreshTokenResponse, error)

	mu   sync.Mutex
	held Profile
}

// early is how long before its end a token is renewed, so that it is still good
// when the server reads it.
const early = 30 * time.Second

func (s *tokenSource) current() Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *tokenSource) token(ctx context.Context) (string, error) {
	held := s.current()
	if fresh(held, "") {
		return held.AccessToken, nil
	}
	return s.renew(ctx, "")
}

func (s *tokenSource) refused(ctx context.Context, token string) (bool, error) {
	next, err := s.renew(ctx, token)
	return next != "" && next != token, err
}

// fresh reports whether the profile has a token that is good and not the one
// that was refused.
func fresh(p Profile, refused string) bool {
	return p.AccessToken != "" && p.AccessToken != refused && time.Until(p.AccessExpireTime) > early
}

// renew gives a token other than the refused one. Under the lock it looks first
// whether another process was faster. The attempt is on disk before it is sent
// and stays there until its answer is, so an exchange that was cut anywhere is
// the same exchange when it is tried again, and never looks like a theft.
func (s *tokenSource) renew(ctx context.Context, refused string) (string, error) {
	l, err := lock(ctx, s.path)
	if err != nil {
		return "", err
	}
	defer l.unlock()
	p, err := LoadProfile(s.path)
	if err != nil {
		return "", err
	}
	if !fresh(p, refused) {
		if p, err = s.exchangeToken(ctx, p); err != nil {
			return "", err
		}
	}
	s.mu.Lock()
	s.held = p
	s.mu.Unlock()
	return p.AccessToken, nil
}

func (s *tokenSource) exchangeToken(ctx context.Context, p Profile) (Profile, error) {
	if p.Attempt == "" {
		p.Attempt = NewID()
		if err := p.save(s.path); err != nil {
			return p, err
		}
	}
	signature, err := proof.SignRefresh(s.key, proof.RefreshTuple{
		ServerID: p.ServerID, Account: p.Account, Installation: p.Installation,
		TokenHash: proof.Sum([]byte(p.RefreshToken)), Attempt: p.Attempt,
	})
	if err != nil {
		return p, err
	}
	res, err := s.exchange(ctx, &v1.RefreshTokenRequest{RefreshToken: p.RefreshToken, Attempt: p.Attempt, Proof: signature})
	if err != nil {
		return p, fmt.Errorf("renew credentials: %w", err)
	}
	p = p.with(res.GetTokens())
	p.Attempt = ""
	return p, p.save(s.path)
}

// with is the profile with another pair of tokens.
func (p Profile) with(t *v1.Tokens) Profile {
	p.RefreshToken, p.AccessToken = t.GetRefreshToken(), t.GetAccessToken()
	p.AccessExpireTime = t.GetAccessExpireTime().AsTime()
	return p
}

// Ended reports whether an error says that this device is no part of the
// account any more and has to be paired again.
func Ended(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == connect.CodeUnauthenticated &&
		(e.Reason == ReasonRevoked || e.Reason == ReasonReused || e.Reason == "EXPIRED")
}

// Address is how the server is reached: its base URL, and the file with its
// certificate authority where it has one of its own.
func (p *Person) Address() (server, caFile string) { return p.server, p.caFile }
