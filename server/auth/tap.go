package auth

import (
	"encoding/base64"
	"fmt"
	"io"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/sync/proof"
)

const (
	tapType = "bk-act+jwt"
	tapLife = time.Hour
	// tapIDSize is 128 bits, so that used ids never meet by chance.
	tapIDSize = 16
)

func tapProfile() profile {
	return profile{
		typ: tapType, maxLife: tapLife,
		names: []string{"dec", "dig", "ep", "exp", "iat", "inst", "jti", "rev", "sub", "verb"},
	}
}

// TapGrant is the one act a button stands for.
type TapGrant struct {
	// Account and Installation may tap it, nobody else.
	Account, Installation string
	// Decision and Revision are what it answers.
	Decision string
	Revision uint64
	// Digest is the asked digest of the card it was sent with.
	Digest proof.Digest
	// Verb is the fixed answer it gives: lower-case letters and "_".
	Verb string
}

// Tap is a verified tap token. The caller still consumes its ID, in the
// transaction of the answer, and demands a proof for whatever does not merely
// lower risk.
type Tap struct {
	TapGrant
	// ID is consumed by the first use.
	ID string
	// Epoch, IssueTime and ExpireTime are as in [Access].
	Epoch                 uint64
	IssueTime, ExpireTime time.Time
}

// A tap token has no iss and aud: its key is derived for taps of this server
// alone, and each byte is sent to a phone once per button.
type tapBody struct {
	Dec  string       `json:"dec"`
	Dig  proof.Digest `json:"dig"`
	Ep   uint64       `json:"ep"`
	Exp  int64        `json:"exp"`
	Iat  int64        `json:"iat"`
	Inst string       `json:"inst"`
	Jti  string       `json:"jti"`
	Rev  uint64       `json:"rev"`
	Sub  string       `json:"sub"`
	Verb string       `json:"verb"`
}

// MintTap makes a tap token that ends with the decision's deadline and after an
// hour at the latest; a zero deadline is none. Errors: [ErrGrant], also for a
// deadline that has passed, and that of the random source.
func (i *Issuer) MintTap(grant TapGrant, deadline time.Time) (token credential.Secret, tap Tap, err error) {
	if !goodText(grant.Account) || !goodText(grant.Installation) || !goodText(grant.Decision) ||
		!goodWord(grant.Verb, "_") || grant.Digest.IsZero() || grant.Revision > 1<<53-1 {
		return credential.Secret{}, Tap{}, fmt.Errorf("%w: tap", ErrGrant)
	}
	now := second(i.cfg.Now())
	end := now.Add(tapLife)
	if !deadline.IsZero() && deadline.Before(end) {
		end = second(deadline)
	}
	if !end.After(now) {
		return credential.Secret{}, Tap{}, fmt.Errorf("%w: deadline", ErrGrant)
	}
	var id [tapIDSize]byte
	if _, err := io.ReadFull(i.cfg.Random, id[:]); err != nil {
		return credential.Secret{}, Tap{}, fmt.Errorf("auth: random: %w", err)
	}
	tap = Tap{
		TapGrant: grant, ID: base64.RawURLEncoding.EncodeToString(id[:]),
		Epoch: i.cfg.Epoch(), IssueTime: now, ExpireTime: end,
	}
	token, err = i.cfg.Tap.mint(tapType, tapBody{
		Dec: grant.Decision, Dig: grant.Digest, Ep: tap.Epoch, Exp: end.Unix(), Iat: now.Unix(),
		Inst: grant.Installation, Jti: tap.ID, Rev: grant.Revision, Sub: grant.Account, Verb: grant.Verb,
	})
	if err != nil {
		return credential.Secret{}, Tap{}, err
	}
	return token, tap, nil
}

// VerifyTap reads a tap token. The zero Tap comes with every error: a
// [*RefusedError] that matches [ErrBadToken] or [ErrExpired].
func (i *Issuer) VerifyTap(token string) (Tap, error) {
	c, err := i.cfg.Tap.read(token, i.tap)
	if err != nil {
		return Tap{}, err
	}
	out := Tap{
		TapGrant: TapGrant{
			Account: c.text("sub"), Installation: c.text("inst"), Decision: c.text("dec"),
			Revision: c.integer("rev"), Verb: c.text("verb"),
		},
		ID: c.text("jti"),
	}
	digest, err := proof.ParseDigest(c.text("dig"))
	if err != nil || digest.IsZero() {
		c.fail()
	}
	out.Digest = digest
	var over, stale error
	out.IssueTime, out.ExpireTime, over = c.life(i.tap, i.cfg.Now())
	out.Epoch, stale = c.epoch(i.cfg.Epoch())
	for _, err := range []error{c.err, stale, over} {
		if err != nil {
			return Tap{}, err
		}
	}
	return out, nil
}
