package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

// RedeemPairing takes up an offer, either by its id and the scanned secret or
// by the typed code alone.
type RedeemPairing struct {
	Offer  string
	Secret credential.Secret
	Code   credential.Secret
	Device NewDevice
	// KeyMAC is for the offering device to check, which knows the secret; the
	// server passes it on.
	KeyMAC []byte
}

// RedeemedPairing is what the new device shows, and by what it asks for its
// tokens.
type RedeemedPairing struct {
	Offer      string
	Digits     credential.Secret
	Redeem     credential.Secret
	ExpireTime time.Time
}

const (
	keyMACSize = 32
	// wrongSecrets end an offer. Whoever guesses at 128 bits of one offer is no
	// honest device.
	wrongSecrets = 5
)

// RedeemPairing gives the new device four digits to show. It lets nobody in:
// the person types the digits on the offering device. A second use of the
// secret ends the offer, for then one of the two is a thief. By anybody who
// holds the secret. Errors: ErrBadSecret whatever is wrong with it, *FieldError
// for a device that is not acceptable.
func (a *App) RedeemPairing(ctx context.Context, c RedeemPairing) (RedeemedPairing, error) {
	inst, err := a.newDevice(c.Device)
	if err != nil {
		return RedeemedPairing{}, err
	}
	id, presented, err := a.findOffer(ctx, c)
	if err != nil {
		return RedeemedPairing{}, err
	}
	account, err := accountOf(store.KindOffer, id)
	if err != nil {
		return RedeemedPairing{}, ErrBadSecret
	}
	var result RedeemedPairing
	var refused error
	err = a.update(ctx, account, func(tx *store.Tx) error {
		o, err := tx.Offer(id)
		if errors.Is(err, store.ErrNotFound) {
			err = ErrBadSecret
		}
		if err != nil {
			return err
		}
		// A refusal leaves its trace, so it is no error of the transaction.
		if refused, err = judgeRedeem(tx, o, presented); refused != nil || err != nil {
			return err
		}
		result, err = a.redeem(tx, o, inst, c.KeyMAC)
		return err
	})
	if err == nil {
		err = refused
	}
	return result, err
}

// presentedSecret is what was shown of an offer's secrets, and which one.
type presentedSecret struct {
	hash  credential.Hash
	typed bool
}

// findOffer reads which of the two ways is taken. A typed code names its offer.
func (a *App) findOffer(ctx context.Context, c RedeemPairing) (string, presentedSecret, error) {
	if c.Code.IsZero() {
		if len(c.KeyMAC) != keyMACSize {
			return "", presentedSecret{}, &FieldError{Field: "key_mac", Reason: "LENGTH", Max: keyMACSize}
		}
		return c.Offer, presentedSecret{hash: credential.HashOf(c.Secret.Reveal())}, nil
	}
	if c.Offer != "" || !c.Secret.IsZero() || len(c.KeyMAC) > 0 {
		return "", presentedSecret{}, &FieldError{Field: "code", Reason: "EXCLUSIVE"}
	}
	code, err := credential.ParseCode(c.Code.Reveal())
	if err != nil {
		return "", presentedSecret{}, ErrBadSecret
	}
	hash := code.Hash(a.keys.PairingCode)
	id, found, err := a.store.OfferByCode(ctx, hash[:])
	if err == nil && !found {
		err = ErrBadSecret
	}
	return id, presentedSecret{hash: hash, typed: true}, err
}

// judgeRedeem says why a secret is refused, after noting what that means for
// the offer.
func judgeRedeem(tx *store.Tx, o store.Offer, presented presentedSecret) (refused, err error) {
	want := o.SecretHash
	if presented.typed {
		want = o.CodeHash
	}
	right := sameHash(want, presented.hash)
	switch {
	case !undecided(o):
		return ErrBadSecret, nil
	case over(o, tx.Now()):
		err = killOffer(tx, o, "expired")
	case !right:
		if o.WrongSecrets++; o.WrongSecrets < wrongSecrets {
			return ErrBadSecret, tx.PutOffer(o)
		}
		err = killOffer(tx, o, "wrong_secrets")
	case o.State == store.OfferRedeemed:
		err = killOffer(tx, o, "redeemed_twice")
	default:
		return nil, nil
	}
	return ErrBadSecret, err
}

func (a *App) redeem(tx *store.Tx, o store.Offer, inst store.Installation, mac []byte) (RedeemedPairing, error) {
	digits, err := credential.NewDigits(a.random)
	if err != nil {
		return RedeemedPairing{}, err
	}
	redeem, err := credential.NewLinkSecret(a.random)
	if err != nil {
		return RedeemedPairing{}, err
	}
	digitsHash := keyed(a.keys.PairingCode, labelPairDigits, o.ID, digits.Reveal())
	redeemHash := credential.HashOf(redeem.Reveal())
	o.State, o.Device, o.KeyMAC = store.OfferRedeemed, inst, mac
	o.DigitsHash, o.RedeemHash = digitsHash[:], redeemHash[:]
	if err := tx.PutOffer(o); err != nil {
		return RedeemedPairing{}, err
	}
	return RedeemedPairing{Offer: o.ID, Digits: digits, Redeem: redeem, ExpireTime: o.ExpireTime},
		tx.Audit(actorServer, "pairing.redeemed", o.ID, "")
}
