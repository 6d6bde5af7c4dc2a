package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// UnlockOffer is what a terminal shows to be unlocked.
type UnlockOffer struct {
	Digits     credential.Secret
	ExpireTime time.Time
}

// RequestUnlock gives a terminal four digits to show; those before are void. By
// a full terminal. Errors: ErrWrongPrincipal, ErrRevoked.
func (a *App) RequestUnlock(ctx context.Context, p policy.Principal) (UnlockOffer, error) {
	var offer UnlockOffer
	err := a.onAccountFull(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if inst.Platform != store.PlatformTerminal {
			return ErrWrongPrincipal
		}
		digits, err := credential.NewDigits(a.random)
		if err != nil {
			return err
		}
		offer = UnlockOffer{Digits: digits, ExpireTime: tx.Now().Add(a.limits.UnlockOfferLife)}
		hash := a.unlockHash(inst.ID, digits)
		return tx.PutUnlock(inst.ID, store.Unlock{DigitsHash: hash[:], ExpireTime: offer.ExpireTime})
	})
	return offer, err
}

func (a *App) unlockHash(terminal string, digits credential.Secret) credential.Hash {
	return keyed(a.keys.PairingCode, labelUnlockDigits, terminal, digits.Reveal())
}
