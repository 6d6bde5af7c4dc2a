package app

import (
	"context"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// TestPush rings the calling device, or another one of its account, at every
// endpoint that has, dead ones included, so that each row can say why nothing
// came. No row means that no endpoint is registered. By any device; how often is
// limited at the edge. Errors: ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) TestPush(ctx context.Context, p policy.Principal, device string) ([]ListedDelivery, error) {
	var out []ListedDelivery
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		out = nil
		if device == "" {
			device = inst.ID
		}
		if err := ringable(tx.Read, p, device); err != nil {
			return err
		}
		own, err := addressesOf(tx.Read, device)
		if err != nil || len(own) == 0 {
			return err
		}
		name, err := randomName(a.random)
		if err != nil {
			return err
		}
		rows := plan.Tests(accountOfTx(tx), name, own, tx.Now())
		for _, d := range rows {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		if out, err = a.withDevices(tx.Read, rows); err != nil {
			return err
		}
		return tx.Audit(inst.ID, "alert.planned", device, string(push.Test))
	})
	return out, err
}

// ringable refuses a device that is not one of the account, or is one no more.
func ringable(tx *store.Read, p policy.Principal, device string) error {
	if _, err := ownAccount(p, store.KindInstallation, device); err != nil {
		return err
	}
	inst, err := tx.Installation(device)
	if err == nil && inst.State == store.InstallationRevoked {
		err = store.ErrNotFound
	}
	return err
}
