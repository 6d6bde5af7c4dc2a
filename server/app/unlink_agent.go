package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
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
			if err := a.cancelUnlinked(tx, inst, link, s); err != nil {
				return err
			}
		}
		return tx.Audit(inst.ID, "agent.unlinked", agent, "")
	})
	return link, err
}

// cancelUnlinked ends one task and says in its thread why.
func (a *App) cancelUnlinked(tx *store.Tx, by store.Installation, link store.AgentLink, s task.State) error {
	th, err := tx.Thread(s.Thread)
	if err != nil {
		return err
	}
	if _, err := a.appendItem(tx, &th, thread.Item{
		Task: s.ID, Role: thread.RoleServer, Kind: thread.Notice,
		Parts: []thread.Part{{Text: link.Name + " may not work here any more."}},
	}); err != nil {
		return err
	}
	if err := tx.PutThread(th, true); err != nil {
		return err
	}
	_, err = a.stepTask(tx, s, task.Cancel{By: by.ID, Reason: "The agent was unlinked."})
	return err
}
