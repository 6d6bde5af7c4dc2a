package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
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
		link.Revoked = true
		if err := tx.PutLink(link); err != nil {
			return err
		}
		tasks, err := tx.LiveTasks(agent)
		if err != nil {
			return err
		}
		for _, s := range tasks {
			why := link.Name + " may not work here any more."
			if _, err := a.stepTask(tx, s, task.Cancel{By: inst.ID, Reason: why}); err != nil {
				return err
			}
		}
		return tx.Audit(inst.ID, "agent.unlinked", agent, "")
	})
	return link, err
}
