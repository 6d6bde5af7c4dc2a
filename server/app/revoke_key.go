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
		row, err := tx.CredentialRow(id)
		if err != nil {
			return err
		}
		// The table is global and holds every kind.
		if row.Account != tx.Account() || row.Kind != store.CredentialAgent {
			return store.ErrNotFound
		}
		keys, err := tx.Keys(row.Agent)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if k.ID != id {
				continue
			}
			k.Revoked = true
			if err := tx.PutKey(k); err != nil {
				return err
			}
			return tx.Audit(inst.ID, "key.revoked", id, "")
		}
		return nil
	})
}
