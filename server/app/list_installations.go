package app

import (
	"context"
	"slices"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// ListInstallations reads the devices of the caller's account, oldest first,
// without revoked ones. By any device. Errors: ErrWrongPrincipal, ErrRevoked.
func (a *App) ListInstallations(ctx context.Context, p policy.Principal) ([]store.Installation, error) {
	var out []store.Installation
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		all, err := tx.Installations()
		out = living(all)
		return err
	})
	// Ids sort by the millisecond only.
	slices.SortStableFunc(out, func(x, y store.Installation) int { return x.CreateTime.Compare(y.CreateTime) })
	return out, err
}
