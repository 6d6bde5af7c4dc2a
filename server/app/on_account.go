package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// onAccount runs fn as one command of a person's own account, with the calling
// device as it stands. Programs have no such account.
func (a *App) onAccount(ctx context.Context, p policy.Principal, fn func(*store.Tx, store.Installation) error) error {
	if !p.Person() {
		return ErrWrongPrincipal
	}
	return a.update(ctx, p.Account, func(tx *store.Tx) error {
		inst, err := device(tx.Read, p)
		if err != nil {
			return err
		}
		return fn(tx, inst)
	})
}

// onAccountVerified is onAccount for a change that needs the person to be
// present; which it is not until the device shows it.
func (a *App) onAccountVerified(ctx context.Context, p policy.Principal, fn func(*store.Tx, store.Installation) error) error {
	return a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if err := verified(tx.Read, p); err != nil {
			return err
		}
		return fn(tx, inst)
	})
}

// onAccountFull is onAccount for what a device on probation may not do.
func (a *App) onAccountFull(ctx context.Context, p policy.Principal, fn func(*store.Tx, store.Installation) error) error {
	return a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if !inst.Full(tx.Now()) {
			return ErrWrongPrincipal
		}
		return fn(tx, inst)
	})
}

// readAccount runs fn on one picture of a person's own account.
func (a *App) readAccount(ctx context.Context, p policy.Principal, fn func(*store.Read, store.Installation) error) error {
	if !p.Person() {
		return ErrWrongPrincipal
	}
	return a.store.View(ctx, p.Account, func(tx *store.Read) error {
		inst, err := device(tx, p)
		if err != nil {
			return err
		}
		return fn(tx, inst)
	})
}
