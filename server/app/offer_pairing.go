package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// PairingOffer is what the offering device shows: the secret as a code to scan,
// or the same offer as a code to type.
type PairingOffer struct {
	ID         string
	Secret     credential.Secret
	Code       credential.Code
	ExpireTime time.Time
}

// OfferPairing makes an offer by which one new device may ask to come in. By a
// device whose person is present. Errors: *StepUpError, *QuotaError for open
// offers or devices, ErrWrongPrincipal, ErrRevoked.
func (a *App) OfferPairing(ctx context.Context, p policy.Principal) (PairingOffer, error) {
	var offer PairingOffer
	err := a.onAccountVerified(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		var err error
		offer, err = a.offerPairing(tx, inst)
		return err
	})
	return offer, err
}

func (a *App) offerPairing(tx *store.Tx, inst store.Installation) (PairingOffer, error) {
	if err := a.room(tx.Read); err != nil {
		return PairingOffer{}, err
	}
	open, err := a.sweepOffers(tx)
	if err != nil {
		return PairingOffer{}, err
	}
	if open >= a.limits.PairingOffers {
		return PairingOffer{}, &QuotaError{What: "pairing_offers", Max: int64(a.limits.PairingOffers)}
	}
	secret, err := credential.NewLinkSecret(a.random)
	if err != nil {
		return PairingOffer{}, err
	}
	code, err := credential.NewCode(a.random)
	if err != nil {
		return PairingOffer{}, err
	}
	id, err := a.newID(tx.Read, store.KindOffer)
	if err != nil {
		return PairingOffer{}, err
	}
	secretHash, codeHash := credential.HashOf(secret.Reveal()), code.Hash(a.keys.PairingCode)
	offer := PairingOffer{ID: id, Secret: secret, Code: code, ExpireTime: tx.Now().Add(a.limits.OfferLife)}
	if err := tx.PutOffer(store.Offer{
		ID: id, By: inst.ID, SecretHash: secretHash[:], CodeHash: codeHash[:],
		State: store.OfferOpen, ExpireTime: offer.ExpireTime,
		// What the claiming device lets in while it still counts as verified is
		// part of setting up.
		NoProbation: tx.Now().Before(inst.FullUntil),
	}); err != nil {
		return PairingOffer{}, err
	}
	return offer, tx.Audit(inst.ID, "pairing.offered", id, "")
}

// offerKept is how long the end of an offer can be asked for.
const offerKept = 24 * time.Hour

// sweepOffers ends offers that are over, forgets those nobody will ask for any
// more, and counts the open ones.
func (a *App) sweepOffers(tx *store.Tx) (open int, err error) {
	offers, err := tx.Offers()
	if err != nil {
		return 0, err
	}
	for _, o := range offers {
		switch {
		case tx.Now().Sub(o.ExpireTime) >= offerKept:
			err = tx.DeleteOffer(o)
		case !undecided(o):
		case over(o, tx.Now()):
			err = killOffer(tx, o, "expired")
		default:
			open++
		}
		if err != nil {
			return 0, err
		}
	}
	return open, nil
}
