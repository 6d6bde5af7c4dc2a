package auth

import (
	"context"
	"errors"
	"strings"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

const scheme = "bearer"

// Principals is what the verbs know of credentials: whether they are good now.
type Principals interface {
	// AuthenticateAgent finds the agent, or the task of one, behind a
	// credential.
	AuthenticateAgent(ctx context.Context, token credential.Token) (policy.Principal, error)
	// CheckInstallation holds an access token's holder against the device as it
	// stands: alive, of this generation, and on probation or not.
	CheckInstallation(ctx context.Context, account, installation string, generation uint64) (policy.Principal, error)
}

// Authenticator turns what a caller presents into who it is. A credential is
// believed only in exactly one Authorization header; nothing here looks at
// URLs, forms or cookies.
type Authenticator struct {
	issuer     *Issuer
	principals Principals
}

// NewAuthenticator reads tokens by issuer and asks principals whether whom they
// name may still call.
func NewAuthenticator(issuer *Issuer, principals Principals) *Authenticator {
	return &Authenticator{issuer: issuer, principals: principals}
}

// Authenticate reads the values of a call's Authorization headers. Errors:
// app.ErrBadToken for anything but one credential of ours in one header,
// app.ErrExpired, app.ErrRevoked, and those of the store.
func (a *Authenticator) Authenticate(ctx context.Context, headers []string) (policy.Principal, error) {
	token, ok := bearer(headers)
	if !ok {
		return policy.Principal{}, app.ErrBadToken
	}
	if strings.HasPrefix(token, "bk_") {
		return a.opaque(ctx, token)
	}
	access, err := a.issuer.VerifyAccess(token)
	if err != nil {
		return policy.Principal{}, refusal(err)
	}
	return a.principals.CheckInstallation(ctx, access.Account, access.Installation, access.Generation)
}

// opaque takes the two kinds that may stand in a header. The others are good in
// the body of their one procedure and nowhere else.
func (a *Authenticator) opaque(ctx context.Context, text string) (policy.Principal, error) {
	token, err := credential.Parse(text)
	if err != nil {
		return policy.Principal{}, app.ErrBadToken
	}
	switch token.Kind() {
	case credential.KindAgent, credential.KindTask:
		return a.principals.AuthenticateAgent(ctx, token)
	default:
		return policy.Principal{}, app.ErrBadToken
	}
}

// bearer takes the token out of the one header there may be.
func bearer(headers []string) (string, bool) {
	if len(headers) != 1 || len(headers[0]) > maxToken {
		return "", false
	}
	word, token, ok := strings.Cut(headers[0], " ")
	return token, ok && strings.EqualFold(word, scheme) && token != "" && !strings.ContainsAny(token, " ,\t")
}

// Tap reads the token of a button. Whether its device may still answer is
// judged live by the verb, in the transaction of the answer. Errors:
// app.ErrBadToken, app.ErrExpired.
func (a *Authenticator) Tap(token string) (policy.Principal, app.Tap, error) {
	tap, err := a.issuer.VerifyTap(token)
	if err != nil {
		return policy.Principal{}, app.Tap{}, refusal(err)
	}
	if tap.Revision > 1<<32-1 {
		return policy.Principal{}, app.Tap{}, app.ErrBadToken
	}
	p := policy.Principal{Kind: policy.Installation, Account: tap.Account, Installation: tap.Installation}
	return p, app.Tap{
		Verb: decision.Verb(tap.Verb), Decision: tap.Decision,
		Revision: uint32(tap.Revision), Asked: decision.Digest(tap.Digest),
	}, nil
}

// refusal gives the verbs' words for what the reader found.
func refusal(err error) error {
	if errors.Is(err, ErrExpired) {
		return app.ErrExpired
	}
	return app.ErrBadToken
}
