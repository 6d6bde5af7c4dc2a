package app

import (
	"bytes"
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/proof"
)

// RefreshToken exchanges a refresh token.
type RefreshToken struct {
	Token credential.Secret
	// Attempt names this exchange; a repeat with the same one is the same
	// exchange.
	Attempt string
	// Proof is by the installation's key over token and attempt.
	Proof []byte
}

// RefreshToken gives the next pair. Nothing changes before the proof was
// verified, so a thief of the string can neither refresh nor log its owner out.
// A spent token ends the installation: two hold one chain, and nobody can say
// which of them is the owner. Only where the store came out of a backup may the
// token be younger than what is known: the proof then lets the device go on,
// once. By anybody who holds token and key. Errors:
// ErrBadToken, ErrProof, ErrExpired, ErrRevoked, ErrReused, *FieldError for the
// attempt.
func (a *App) RefreshToken(ctx context.Context, c RefreshToken) (TokenPair, error) {
	token, err := credential.ParseKind(c.Token.Reveal(), credential.KindRefresh)
	if err != nil {
		return TokenPair{}, ErrBadToken
	}
	next, err := credential.Next(a.keys.Refresh, token, c.Attempt)
	if err != nil {
		return TokenPair{}, &FieldError{Field: "attempt", Reason: "LENGTH", Max: 64}
	}
	row, err := a.store.Credential(ctx, token.ID())
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Kind != store.CredentialRefresh {
		err = ErrBadToken
	}
	if err != nil {
		return TokenPair{}, err
	}
	key, err := a.checkRefreshProof(ctx, row, token, c)
	if err != nil {
		return TokenPair{}, err
	}
	var pair TokenPair
	var refused error
	err = a.update(ctx, row.Account, func(tx *store.Tx) error {
		inst, err := tx.Installation(row.Installation)
		if err != nil {
			return err
		}
		if !bytes.Equal(inst.PublicKey, key) {
			return ErrProof
		}
		// Reuse ends the family, so it is no error of the transaction.
		pair, refused, err = a.refresh(tx, inst, token, next, c.Attempt)
		return err
	})
	if err == nil {
		err = refused
	}
	return pair, err
}

// checkRefreshProof verifies the signature and returns the key it was checked
// against, to be compared again in the transaction.
func (a *App) checkRefreshProof(ctx context.Context, row store.Credential, token credential.Token, c RefreshToken) ([]byte, error) {
	var inst store.Installation
	err := a.store.View(ctx, row.Account, func(tx *store.Read) error {
		var err error
		inst, err = tx.Installation(row.Installation)
		return err
	})
	if err != nil {
		return nil, err
	}
	key, err := proof.ParsePublicKey(inst.PublicKey)
	if err != nil {
		return nil, err
	}
	hash := token.Hash()
	if proof.VerifyRefresh(key, proof.RefreshTuple{
		ServerID: a.ServerID(), Account: store.AccountID(row.Account), Installation: inst.ID,
		TokenHash: proof.Digest(hash), Attempt: c.Attempt,
	}, c.Proof) != nil {
		return nil, ErrProof
	}
	return inst.PublicKey, nil
}

func (a *App) refresh(tx *store.Tx, inst store.Installation, token, next credential.Token, attempt string) (pair TokenPair, refused, err error) {
	family, err := tx.Family(inst.ID)
	if err != nil {
		return TokenPair{}, nil, err
	}
	outcome, family := credential.DecideRefresh(family, credential.RefreshRequest{
		Presented: token.Hash(), Attempt: credential.HashOf(attempt), Successor: next.Hash(),
	}, tx.Now())
	switch outcome {
	case credential.RefreshIssued, credential.RefreshRepeated, credential.RefreshRecovered:
		if err := tx.PutFamily(inst.ID, family); err != nil {
			return TokenPair{}, nil, err
		}
		pair, err = a.tokenPair(tx.Account(), inst, next, tx.Now())
		return pair, nil, err
	case credential.RefreshReused:
		return TokenPair{}, ErrReused, a.revokeInstallation(tx, inst, actorServer, "refresh_reused")
	case credential.RefreshIdled, credential.RefreshAged:
		return TokenPair{}, ErrExpired, nil
	case credential.RefreshRevoked:
		return TokenPair{}, ErrRevoked, nil
	default:
		return TokenPair{}, ErrBadToken, nil
	}
}
