package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// GetPairing asks how an offer stands.
type GetPairing struct {
	Offer string
	// Redeem names the new device; empty when the offering one asks.
	Redeem credential.Secret
	// Known is the state the caller has seen; another one is waited for.
	Known store.PairingState
	Wait  time.Duration
}

// Pairing is an offer as one of its two sides may see it.
type Pairing struct {
	State store.PairingState
	// Installation is the device that redeemed, without an id until confirmed.
	Installation store.Installation
	// KeyMAC is of its key, for the offering side to check.
	KeyMAC []byte
	// Account is the account's id and Tokens what the new device proves itself
	// with; for the new device, once confirmed. Tokens are nil once the first
	// refresh token was used.
	Account string
	Tokens  *TokenPair

	// expires is when an undecided offer ends.
	expires time.Time
	refresh credential.Token
}

// GetPairing waits for what happens to an offer. By the device that offered, or
// by anybody who holds the secret that redeeming gave. Errors: ErrBadSecret for
// a secret that names no offer, store.ErrNotFound for an offer of anybody else,
// ErrRevoked for a device that was let in and is out again, ErrWrongPrincipal.
func (a *App) GetPairing(ctx context.Context, p policy.Principal, c GetPairing) (Pairing, error) {
	if c.Redeem.IsZero() && !p.Person() {
		return Pairing{}, ErrWrongPrincipal
	}
	found, err := a.readPairing(ctx, p, c)
	if err != nil || found.settled(c.Known) {
		return found, err
	}
	// An offer that ends by time wakes nobody, so the wait ends with it.
	wait := min(c.Wait, a.limits.PullWait, found.expires.Sub(a.clock()))
	err = a.hub.Tail(ctx, wait, []string{"offer:" + c.Offer}, func() (bool, error) {
		found, err = a.readPairing(ctx, p, c)
		return found.settled(c.Known), err
	})
	return found, err
}

// settled: the caller learns something, or nothing more will happen.
func (f Pairing) settled(known store.PairingState) bool {
	return f.State != known || f.State == store.OfferConfirmed || f.State == store.OfferDead
}

func (a *App) readPairing(ctx context.Context, p policy.Principal, c GetPairing) (Pairing, error) {
	if c.Redeem.IsZero() {
		return a.offeredPairing(ctx, p, c)
	}
	found, err := a.redeemedPairing(ctx, c)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrBadSecret // a stranger learns nothing about ids
	}
	return found, err
}

// offeredPairing is what the offering side sees.
func (a *App) offeredPairing(ctx context.Context, p policy.Principal, c GetPairing) (Pairing, error) {
	if account, err := accountOf(store.KindOffer, c.Offer); err != nil || account != p.Account {
		return Pairing{}, store.ErrNotFound
	}
	var found Pairing
	err := a.readAccount(ctx, p, func(tx *store.Read, by store.Installation) error {
		o, err := tx.Offer(c.Offer)
		if err != nil {
			return err
		}
		if o.By != by.ID {
			return store.ErrNotFound
		}
		found = pairing(o, tx.Now())
		found.KeyMAC = o.KeyMAC
		if o.State == store.OfferConfirmed {
			found.Installation, err = tx.Installation(o.Installation)
		}
		return err
	})
	return found, err
}

// redeemedPairing is what the new device sees.
func (a *App) redeemedPairing(ctx context.Context, c GetPairing) (Pairing, error) {
	account, err := accountOf(store.KindOffer, c.Offer)
	if err != nil {
		return Pairing{}, err
	}
	var found Pairing
	var now time.Time
	err = a.store.View(ctx, account, func(tx *store.Read) error {
		o, err := tx.Offer(c.Offer)
		if err != nil {
			return err
		}
		if !sameHash(o.RedeemHash, credential.HashOf(c.Redeem.Reveal())) {
			return store.ErrNotFound
		}
		now = tx.Now()
		found = pairing(o, now)
		if o.State != store.OfferConfirmed {
			return nil
		}
		return a.letIn(tx, o, &found)
	})
	if err != nil || found.refresh == (credential.Token{}) {
		return found, err
	}
	tokens, err := a.tokenPair(account, found.Installation, found.refresh, now)
	found.Tokens = &tokens
	return found, err
}

// letIn adds what the new device needs. Its first refresh token is given out
// until it was used, which shows that the device has it.
func (a *App) letIn(tx *store.Read, o store.Offer, found *Pairing) error {
	inst, err := tx.Installation(o.Installation)
	if err != nil {
		return err
	}
	if inst.State == store.InstallationRevoked {
		return ErrRevoked
	}
	family, err := tx.Family(inst.ID)
	if err != nil {
		return err
	}
	found.Installation, found.Account = inst, store.AccountID(tx.Account())
	refresh, err := a.firstRefresh(o)
	if err == nil && family.Current.Match(refresh) && family.Next.IsZero() {
		found.refresh = refresh
	}
	return err
}

func pairing(o store.Offer, now time.Time) Pairing {
	found := Pairing{State: o.State, Installation: o.Device, expires: o.ExpireTime}
	if over(o, now) {
		found.State = store.OfferDead
	}
	return found
}
