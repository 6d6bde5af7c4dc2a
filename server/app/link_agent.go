package app

import (
	"context"
	"errors"
	"slices"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// LinkAgent says how an agent may work in the caller's account.
type LinkAgent struct {
	Agent string
	// Scopes are what it may do; all when empty.
	Scopes []store.AgentScope
	// Ceiling is the highest class it may ask for; nil is WriteReversible.
	Ceiling *decision.Class
	// LockScreen allows Approve on its notifications.
	LockScreen bool
}

// LinkAgent makes or replaces a link; one that was taken away begins anew. The
// agent may belong to another account: its owner keeps the keys, the person
// here the link. By a device whose person is present. Errors: *StepUpError,
// *QuotaError, *FieldError, ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) LinkAgent(ctx context.Context, p policy.Principal, c LinkAgent) (store.AgentLink, error) {
	if !p.Person() {
		return store.AgentLink{}, ErrWrongPrincipal
	}
	ceiling, err := ceilingOf(c.Ceiling)
	if err != nil {
		return store.AgentLink{}, err
	}
	scopes, err := scopesOf(c.Scopes)
	if err != nil {
		return store.AgentLink{}, err
	}
	// Agents never go away, so one that was seen before the transaction of
	// another account is still there in it.
	agent, err := a.agent(ctx, c.Agent)
	if err != nil {
		return store.AgentLink{}, err
	}
	var link store.AgentLink
	err = a.onAccountVerified(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		link, err = a.link(tx, inst, store.AgentLink{
			Agent: agent.ID, Name: agent.Name, Scopes: scopes, Ceiling: ceiling, LockScreen: c.LockScreen,
		})
		return err
	})
	return link, err
}

// agent reads an agent from the account that owns it.
func (a *App) agent(ctx context.Context, id string) (store.Agent, error) {
	owner, err := accountOf(store.KindAgent, id)
	if err != nil {
		return store.Agent{}, err
	}
	var agent store.Agent
	err = a.store.View(ctx, owner, func(tx *store.Read) error {
		agent, err = tx.Agent(id)
		return err
	})
	return agent, err
}

// link writes a link. A living one keeps its birth and its place in the quota.
func (a *App) link(tx *store.Tx, by store.Installation, link store.AgentLink) (store.AgentLink, error) {
	old, err := tx.Link(link.Agent)
	switch {
	case err == nil && !old.Revoked:
		link.CreateTime = old.CreateTime
	case err == nil, errors.Is(err, store.ErrNotFound):
		all, err := tx.Links()
		if err != nil {
			return link, err
		}
		if len(livingLinks(all)) >= a.limits.Agents {
			return link, &QuotaError{What: "agents", Max: int64(a.limits.Agents)}
		}
		link.CreateTime = tx.Now()
	default:
		return link, err
	}
	if err := tx.PutLink(link); err != nil {
		return link, err
	}
	return link, tx.Audit(by.ID, "agent.linked", link.Agent, "")
}

// livingLinks leaves out what was taken away.
func livingLinks(all []store.AgentLink) []store.AgentLink {
	return slices.DeleteFunc(all, func(l store.AgentLink) bool { return l.Revoked })
}

// ceilingOf is the class an agent may ask for at most.
func ceilingOf(c *decision.Class) (decision.Class, error) {
	if c == nil {
		return decision.WriteReversible, nil
	}
	if *c > decision.Irreversible {
		return 0, &FieldError{Field: "ceiling", Reason: "UNKNOWN"}
	}
	return *c, nil
}

func everyScope() []store.AgentScope {
	return []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork, store.ScopeDecisionRequest, store.ScopeReadOwn, store.ScopeEffectWrite}
}

// scopesOf sorts scopes and drops repeats, so that equal links are equal bytes.
func scopesOf(wanted []store.AgentScope) ([]store.AgentScope, error) {
	if len(wanted) == 0 {
		return everyScope(), nil
	}
	for _, s := range wanted {
		if !slices.Contains(everyScope(), s) {
			return nil, &FieldError{Field: "scopes", Reason: "UNKNOWN"}
		}
	}
	out := slices.Clone(wanted)
	slices.Sort(out)
	return slices.Compact(out), nil
}
