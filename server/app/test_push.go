package app

import (
	"context"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// TestPush rings the calling device at every endpoint it has, dead ones
// included, so that each row can say why nothing came. No row means that no
// endpoint is registered. By any device; how often is limited at the edge.
// Errors: ErrWrongPrincipal, ErrRevoked.
func (a *App) TestPush(ctx context.Context, p policy.Principal) ([]ListedDelivery, error) {
	var out []ListedDelivery
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		own, err := addressesOf(tx.Read, inst.ID)
		if err != nil || len(own) == 0 {
			return err
		}
		name, err := randomName(a.random)
		if err != nil {
			return err
		}
		rows := plan.Tests(plan.Account{ID: tx.Account(), Route: tx.Account()}, name, own, tx.Now())
		for _, d := range rows {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		if out, err = withDevices(tx.Read, rows); err != nil {
			return err
		}
		return tx.Audit(inst.ID, "alert.planned", inst.ID, string(push.Test))
	})
	return out, err
}
