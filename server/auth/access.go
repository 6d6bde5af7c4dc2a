package auth

import (
	"fmt"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
)

const accessType = "bk-at+jwt"

func accessProfile() profile {
	return profile{
		typ: accessType, maxLife: mostLife,
		names: []string{"aud", "ep", "exp", "gen", "iat", "inst", "iss", "knd", "scp", "sub"},
	}
}

// AccessGrant is what an access token says about its holder.
type AccessGrant struct {
	// Account is whose data it opens.
	Account string
	// Installation is the device that calls; revoking it kills the token.
	Installation string
	// Kind is the principal kind the authorisation table knows, such as a full
	// installation or one on probation: lower-case letters and "_".
	Kind string
	// Generation is the installation's own count of ended sessions: raising it
	// in the store ends every token that was made before.
	Generation uint64
	// Scopes narrow what the holder may do; none is the rule for installations.
	Scopes []string
}

// Access is a verified access token.
type Access struct {
	AccessGrant
	// Epoch is the auth epoch it was made in, the current one.
	Epoch uint64
	// IssueTime is when it was made; a revocation refuses what is older.
	IssueTime time.Time
	// ExpireTime is when its streams end.
	ExpireTime time.Time
}

type accessBody struct {
	Aud  string `json:"aud"`
	Ep   uint64 `json:"ep"`
	Exp  int64  `json:"exp"`
	Gen  uint64 `json:"gen"`
	Iat  int64  `json:"iat"`
	Inst string `json:"inst"`
	Iss  string `json:"iss"`
	Knd  string `json:"knd"`
	Scp  string `json:"scp"`
	Sub  string `json:"sub"`
}

// MintAccess makes an access token of the current epoch. The caller has
// authenticated the installation. Errors: [ErrGrant].
func (i *Issuer) MintAccess(grant AccessGrant) (token credential.Secret, expires time.Time, err error) {
	scopes := strings.Join(grant.Scopes, " ")
	words, ok := splitScopes(scopes)
	if !ok || len(words) != len(grant.Scopes) || !goodText(grant.Account) ||
		!goodText(grant.Installation) || grant.Generation > 1<<53-1 || !goodWord(grant.Kind, "_") {
		return credential.Secret{}, time.Time{}, fmt.Errorf("%w: access", ErrGrant)
	}
	now := second(i.cfg.Now())
	expires = now.Add(i.cfg.AccessLife)
	token, err = i.cfg.Access.mint(accessType, accessBody{
		Aud: i.cfg.Audience, Ep: i.cfg.Epoch(), Exp: expires.Unix(), Gen: grant.Generation, Iat: now.Unix(),
		Inst: grant.Installation, Iss: i.cfg.Name, Knd: grant.Kind, Scp: scopes, Sub: grant.Account,
	})
	return token, expires, err
}

// VerifyAccess reads an access token. The zero Access comes with every error:
// a [*RefusedError] that matches [ErrBadToken] or [ErrExpired]. Revocations are the
// caller's to look up.
func (i *Issuer) VerifyAccess(token string) (Access, error) {
	c, err := i.cfg.Access.read(token, i.access)
	if err != nil {
		return Access{}, err
	}
	out := Access{AccessGrant: AccessGrant{
		Account: c.text("sub"), Installation: c.text("inst"), Kind: c.text("knd"),
		Generation: c.integer("gen"), Scopes: c.scopes("scp"),
	}}
	issuer, audience := c.text("iss"), c.text("aud")
	if c.err == nil && (issuer != i.cfg.Name || audience != i.cfg.Audience) {
		return Access{}, bad(ReasonIssuer)
	}
	var over, stale error
	out.IssueTime, out.ExpireTime, over = c.life(i.access, i.cfg.Now())
	out.Epoch, stale = c.epoch(i.cfg.Epoch())
	for _, err := range []error{c.err, stale, over} {
		if err != nil {
			return Access{}, err
		}
	}
	return out, nil
}
