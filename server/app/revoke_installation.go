package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// RevokeInstallation ends a device for good: tokens, addresses, waiting pushes,
// offers and taps die with it. A second one of the same does nothing. By any
// device for itself; by a full one for a device on probation; for any other the
// person has to be present. Errors: *StepUpError, ErrWrongPrincipal,
// ErrRevoked, store.ErrNotFound.
func (a *App) RevokeInstallation(ctx context.Context, p policy.Principal, id string) error {
	if _, err := ownAccount(p, store.KindInstallation, id); err != nil {
		return err
	}
	return a.onAccount(ctx, p, func(tx *store.Tx, by store.Installation) error {
		inst, err := tx.Installation(id)
		if err != nil {
			return err
		}
		if err := mayRevoke(tx.Read, p, by, inst); err != nil {
			return err
		}
		if inst.State == store.InstallationRevoked {
			return nil
		}
		return a.revokeInstallation(tx, inst, by.ID, "")
	})
}

func mayRevoke(tx *store.Read, p policy.Principal, by, inst store.Installation) error {
	switch {
	case inst.ID == by.ID:
		return nil
	case !by.Full(tx.Now()):
		return ErrWrongPrincipal
	case inst.State == store.InstallationRevoked, !inst.Full(tx.Now()):
		return nil
	default:
		err := verified(tx, p)
		return err
	}
}

// revokeInstallation is all that the end of a device means. Access tokens die
// because each call reads the row, refresh tokens with their family.
func (a *App) revokeInstallation(tx *store.Tx, inst store.Installation, actor, why string) error {
	var never time.Time
	inst.State, inst.Health = store.InstallationRevoked, store.PushNone
	inst.FullUntil, inst.ElevatedUntil, inst.UnlockUntil = never, never, never
	inst.AuthEpoch++
	if err := tx.PutInstallation(inst); err != nil {
		return err
	}
	family, err := tx.Family(inst.ID)
	if err == nil {
		family.Revoked = true
		err = tx.PutFamily(inst.ID, family)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := tx.PutUnlock(inst.ID, store.Unlock{}); err != nil {
		return err
	}
	own, err := addressesOf(tx.Read, inst.ID)
	if err != nil {
		return err
	}
	if err := dropAddresses(tx, own); err != nil {
		return err
	}
	if err := dropOffers(tx, inst.ID); err != nil {
		return err
	}
	return tx.Audit(actor, "installation.revoked", inst.ID, why)
}

// dropOffers ends what only the revoked device could have confirmed.
func dropOffers(tx *store.Tx, by string) error {
	offers, err := tx.Offers()
	if err != nil {
		return err
	}
	for _, o := range offers {
		if o.By != by || !undecided(o) {
			continue
		}
		if err := killOffer(tx, o, "revoked"); err != nil {
			return err
		}
	}
	return nil
}

// dropAddresses forgets endpoints and ends the pushes that wait for them. A
// push in a worker's hands finds its address gone right before it is sent.
func dropAddresses(tx *store.Tx, gone []push.Address) error {
	if len(gone) == 0 {
		return nil
	}
	dropped := map[string]bool{}
	for _, adr := range gone {
		dropped[adr.ID] = true
		if err := errors.Join(tx.DeleteAddress(adr), tx.PutQuiet(adr.ID, push.Quiet{})); err != nil {
			return err
		}
	}
	waiting, err := tx.Deliveries()
	if err != nil {
		return err
	}
	for _, d := range waiting {
		if !dropped[d.Address] {
			continue
		}
		next, events, err := outbox.Step(d, outbox.Drop{Reason: outbox.ReasonAddressGone}, tx.Now())
		if err != nil {
			return err
		}
		if len(events) == 0 {
			continue
		}
		if err := tx.UpdateDelivery(next); err != nil {
			return err
		}
	}
	return nil
}

// addressesOf lists the endpoints of one device.
func addressesOf(tx *store.Read, installation string) ([]push.Address, error) {
	all, err := tx.Addresses()
	if err != nil {
		return nil, err
	}
	var own []push.Address
	for _, adr := range all {
		if adr.Installation == installation {
			own = append(own, adr)
		}
	}
	return own, nil
}
