package app

import (
	"bytes"
	"context"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// ConfirmPairing lets the device in that shows these digits. A repeat with the
// same digits gives the same installation. Two wrong tries end the offer. By
// the device that offered, its person present. Errors: ErrBadSecret for wrong
// digits or an offer that is over, *FieldError for what are no digits,
// *StepUpError, *QuotaError, ErrWrongPrincipal, ErrRevoked, store.ErrNotFound
// for an offer of anybody else.
func (a *App) ConfirmPairing(ctx context.Context, p policy.Principal, offer string, typed credential.Secret) (store.Installation, error) {
	if _, err := ownAccount(p, store.KindOffer, offer); err != nil {
		return store.Installation{}, err
	}
	digits, err := credential.ParseDigits(typed.Reveal())
	if err != nil {
		return store.Installation{}, &FieldError{Field: "digits", Reason: "MALFORMED"}
	}
	var inst store.Installation
	var refused error
	err = a.onAccountVerified(ctx, p, func(tx *store.Tx, by store.Installation) error {
		o, err := tx.Offer(offer)
		if err != nil {
			return err
		}
		if o.By != by.ID {
			return store.ErrNotFound
		}
		// A refusal is counted, so it is no error of the transaction.
		if refused, err = a.judgeDigits(tx, o, digits); refused != nil || err != nil {
			return err
		}
		if o.State == store.OfferConfirmed {
			inst, err = tx.Installation(o.Installation)
			return err
		}
		inst, err = a.confirm(tx, o)
		return err
	})
	if err == nil {
		err = refused
	}
	return inst, err
}

// judgeDigits says why digits are refused, after noting what that means for the
// offer.
func (a *App) judgeDigits(tx *store.Tx, o store.Offer, digits credential.Secret) (refused, err error) {
	right := sameHash(o.DigitsHash, keyed(a.keys.PairingCode, labelPairDigits, o.ID, digits.Reveal()))
	switch {
	case o.State == store.OfferConfirmed && right:
		return nil, nil
	case over(o, tx.Now()):
		err = killOffer(tx, o, "expired")
	case o.State != store.OfferRedeemed:
		// Nobody has digits to show, or it is too late: nothing to count.
	case right:
		return nil, nil
	default:
		if o.Tries++; o.Tries < a.limits.DigitTries {
			return ErrBadSecret, tx.PutOffer(o)
		}
		err = killOffer(tx, o, "wrong_digits")
	}
	return ErrBadSecret, err
}

// confirm makes the installation. Its first refresh token is derived, so the
// new device can be given it as often as it asks and the store holds none.
func (a *App) confirm(tx *store.Tx, o store.Offer) (store.Installation, error) {
	if err := a.room(tx.Read); err != nil {
		return store.Installation{}, err
	}
	named, err := credential.New(a.random, credential.KindRefresh)
	if err != nil {
		return store.Installation{}, err
	}
	inst := o.Device
	if inst.ID, err = a.newID(tx.Read, store.KindInstallation); err != nil {
		return inst, err
	}
	inst.State, inst.CreateTime = store.InstallationActive, tx.Now()
	if !o.NoProbation {
		inst.State, inst.ProbationEnd = store.InstallationProbation, tx.Now().Add(a.limits.Probation)
	}
	o.State, o.Installation, o.Refresh = store.OfferConfirmed, inst.ID, named.ID()
	refresh, err := a.firstRefresh(o)
	if err != nil {
		return inst, err
	}
	if err := a.admit(tx, inst, refresh); err != nil {
		return inst, err
	}
	if err := tx.PutOffer(o); err != nil {
		return inst, err
	}
	return inst, tx.Audit(o.By, "installation.paired", inst.ID, o.ID)
}

// firstRefresh rebuilds the token that a confirmed offer gives.
func (a *App) firstRefresh(o store.Offer) (credential.Token, error) {
	raw := keyed(a.keys.Refresh, labelFirstRefresh, o.ID, o.Refresh, string(o.RedeemHash))
	return credential.NewWithID(bytes.NewReader(raw[:]), credential.KindRefresh, o.Refresh)
}
