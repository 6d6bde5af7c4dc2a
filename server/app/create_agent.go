package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// CreateAgent makes an agent.
type CreateAgent struct {
	Key  string
	Name string
	// Ceiling is the highest class it may ask for; nil is WriteReversible.
	Ceiling *decision.Class
	// LockScreen allows Approve on its notifications.
	LockScreen bool
}

// CreateAgent makes an agent of the caller's account and links it there with
// every scope. By a device whose person is present. Errors: *StepUpError,
// *QuotaError, *FieldError, ErrKeyReused, ErrWrongPrincipal, ErrRevoked.
func (a *App) CreateAgent(ctx context.Context, p policy.Principal, c CreateAgent) (store.AgentLink, error) {
	ceiling, err := ceilingOf(c.Ceiling)
	if err != nil {
		return store.AgentLink{}, err
	}
	var link store.AgentLink
	err = a.onAccountVerified(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		link, err = once(a, tx, p, "CreateAgent", c.Key, c, func() (store.AgentLink, error) {
			id, err := a.newID(tx.Read, store.KindAgent)
			if err != nil {
				return store.AgentLink{}, err
			}
			if err := tx.PutAgent(store.Agent{ID: id, Name: c.Name, CreateTime: tx.Now()}); err != nil {
				return store.AgentLink{}, err
			}
			if err := tx.Audit(inst.ID, "agent.created", id, ""); err != nil {
				return store.AgentLink{}, err
			}
			return a.link(tx, inst, store.AgentLink{
				Agent: id, Name: c.Name, Scopes: everyScope(), Ceiling: ceiling, LockScreen: c.LockScreen,
			})
		})
		return err
	})
	return link, err
}
