package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// UnlinkAgent takes an agent's right to work in the caller's account away at
// once: its tasks end with a notice, and with them leases, task tokens, open
// questions and armed grants (R7). A second one does nothing. By a full device.
// Errors: ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) UnlinkAgent(ctx context.Context, p policy.Principal, agent string) (store.AgentLink, error) {
	if _, err := accountOf(store.KindAgent, agent); err != nil {
		return store.AgentLink{}, err
	}
	var link store.AgentLink
	err := a.onAccountFull(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		var err error
		if link, err = tx.Link(agent); err != nil || link.Revoked {
			return err
		}
		link, err = a.unlink(tx, link, inst.ID)
		return err
	})
	return link, err
}
