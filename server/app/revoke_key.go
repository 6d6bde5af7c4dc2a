package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// RevokeKey ends a key of one of the account's own agents, and the task tokens
// minted under it, at once. A second one does nothing. By a full device.
// Errors: ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) RevokeKey(ctx context.Context, p policy.Principal, id string) error {
	return a.onAccountFull(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		return a.revokeKey(tx, id, inst.ID)
	})
}
