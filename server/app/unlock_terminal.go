package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// UnlockTerminal unlocks a terminal for a while when the digits are those it
// shows, and says until when. An agent beside the terminal can read its screen
// but not type on another device. By a full device that is no terminal, its
// person present. Errors: ErrBadSecret for wrong digits or none to compare
// with, *FieldError for what are no digits, *StepUpError, ErrWrongPrincipal,
// ErrRevoked, store.ErrNotFound.
func (a *App) UnlockTerminal(ctx context.Context, p policy.Principal, terminal string, typed credential.Secret) (time.Time, error) {
	if _, err := ownAccount(p, store.KindInstallation, terminal); err != nil {
		return time.Time{}, err
	}
	digits, err := credential.ParseDigits(typed.Reveal())
	if err != nil {
		return time.Time{}, &FieldError{Field: "digits", Reason: "MALFORMED"}
	}
	var until time.Time
	var refused error
	err = a.onAccountVerified(ctx, p, func(tx *store.Tx, by store.Installation) error {
		if by.Platform == store.PlatformTerminal {
			return ErrWrongPrincipal
		}
		inst, err := tx.Installation(terminal)
		if err != nil {
			return err
		}
		if inst.State == store.InstallationRevoked {
			return store.ErrNotFound
		}
		// A refusal is counted, so it is no error of the transaction.
		if refused, err = a.judgeUnlock(tx, inst.ID, digits); refused != nil || err != nil {
			return err
		}
		until = tx.Now().Add(a.limits.UnlockLife)
		inst.UnlockUntil = until
		if err := tx.PutInstallation(inst); err != nil {
			return err
		}
		return tx.Audit(by.ID, "terminal.unlocked", inst.ID, "")
	})
	if err == nil {
		err = refused
	}
	return until, err
}

// judgeUnlock says why digits are refused. Right or wrong too often, they are
// used up.
func (a *App) judgeUnlock(tx *store.Tx, terminal string, digits credential.Secret) (refused, err error) {
	u, err := tx.Unlock(terminal)
	if errors.Is(err, store.ErrNotFound) {
		return ErrBadSecret, nil
	}
	if err != nil {
		return nil, err
	}
	if !tx.Now().Before(u.ExpireTime) {
		return ErrBadSecret, tx.PutUnlock(terminal, store.Unlock{})
	}
	if sameHash(u.DigitsHash, a.unlockHash(terminal, digits)) {
		return nil, tx.PutUnlock(terminal, store.Unlock{})
	}
	if u.Tries++; u.Tries < a.limits.UnlockTries {
		return ErrBadSecret, tx.PutUnlock(terminal, u)
	}
	if err := tx.PutUnlock(terminal, store.Unlock{}); err != nil {
		return nil, err
	}
	return ErrBadSecret, tx.Audit(actorServer, "terminal.unlock_dead", terminal, "wrong_digits")
}
