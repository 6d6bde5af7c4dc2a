package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// CheckInstallation says what a device may be taken for whose access token was
// verified. Account is the routing key and authEpoch what the token was made
// with. It reads the store each time, so a revoked device is out with the next
// call. Errors: ErrBadToken for a device there never was, ErrRevoked.
func (a *App) CheckInstallation(ctx context.Context, account, installation string, authEpoch uint64) (policy.Principal, error) {
	if key, err := accountOf(store.KindInstallation, installation); err != nil || key != account {
		return policy.Principal{}, ErrBadToken
	}
	p := policy.Principal{Kind: policy.Probation, Account: account, Installation: installation}
	err := a.store.View(ctx, account, func(tx *store.Read) error {
		inst, err := tx.Installation(installation)
		if errors.Is(err, store.ErrNotFound) {
			return ErrBadToken
		}
		if err != nil {
			return err
		}
		if inst.State == store.InstallationRevoked || inst.AuthEpoch != authEpoch {
			return ErrRevoked
		}
		if inst.Full(tx.Now()) {
			p.Kind = policy.Installation
		}
		return nil
	})
	if err != nil {
		return policy.Principal{}, err
	}
	return p, nil
}
