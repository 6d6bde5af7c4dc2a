package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// Agents are who may work in an account, and the keys of its own agents.
type Agents struct {
	Links []store.AgentLink
	Keys  []store.AgentKey
}

// ListAgents reads the agents of the caller's account without what was revoked.
// By any device. Errors: ErrWrongPrincipal, ErrRevoked.
func (a *App) ListAgents(ctx context.Context, p policy.Principal) (Agents, error) {
	var out Agents
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		links, err := tx.Links()
		if err != nil {
			return err
		}
		out.Links = livingLinks(links)
		out.Keys, err = tx.Keys("")
		return err
	})
	return out, err
}
