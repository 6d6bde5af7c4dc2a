package app

import (
	"bytes"
	"context"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Elevate proves that the person is there.
type Elevate struct {
	// Nonce is random and good once.
	Nonce string
	// Proof is by the approval key.
	Proof []byte
}

// Bounds of a nonce: long enough never to meet another by chance.
const nonceMin, nonceMax = 16, 64

// Elevate lets the calling device change its account for a few minutes. By a
// full device that has an approval key. Errors: ErrProof for a signature that
// is not of that key or a nonce seen before, *FieldError for the nonce,
// ErrWrongPrincipal, ErrRevoked.
func (a *App) Elevate(ctx context.Context, p policy.Principal, c Elevate) error {
	if len(c.Nonce) < nonceMin || len(c.Nonce) > nonceMax {
		return &FieldError{Field: "nonce", Reason: "LENGTH", Max: nonceMax}
	}
	checked, err := a.checkElevateProof(ctx, p, c)
	if err != nil {
		return err
	}
	return a.onAccountFull(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if !bytes.Equal(inst.ApprovalKey, checked) {
			return ErrProof
		}
		_, seen, err := tx.Once(inst.ID, "Elevate", c.Nonce)
		if err != nil {
			return err
		}
		if seen {
			return ErrProof
		}
		// A nonce is remembered longer than its installation can live.
		if err := tx.PutOnce(inst.ID, "Elevate", c.Nonce, store.Idempotent{
			ExpireTime: tx.Now().Add(credential.RefreshLife),
		}); err != nil {
			return err
		}
		inst.ElevatedUntil = tx.Now().Add(a.limits.Elevation)
		if err := tx.PutInstallation(inst); err != nil {
			return err
		}
		return tx.Audit(inst.ID, "installation.elevated", inst.ID, "")
	})
}

// checkElevateProof verifies the signature and returns the key it was checked
// against, to be compared again in the transaction.
func (a *App) checkElevateProof(ctx context.Context, p policy.Principal, c Elevate) ([]byte, error) {
	var raw []byte
	err := a.readAccount(ctx, p, func(_ *store.Read, inst store.Installation) error {
		raw = inst.ApprovalKey
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return nil, ErrWrongPrincipal
	}
	key, err := proof.ParsePublicKey(raw)
	if err != nil {
		return nil, err
	}
	if proof.VerifyElevate(key, proof.ElevateTuple{
		ServerID: a.ServerID(), Account: store.AccountID(p.Account), Installation: p.Installation, Nonce: c.Nonce,
	}, c.Proof) != nil {
		return nil, ErrProof
	}
	return raw, nil
}
