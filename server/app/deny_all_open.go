package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// DenyAllOpen refuses many questions at once: those of a task, of an agent, or,
// where both are empty, of the whole account.
type DenyAllOpen struct {
	Key         string
	Task, Agent string
	Surface     decision.Surface
}

// DenyAllResult tells which questions were refused, and which could not be:
// those of the server, and those that have no plain no.
type DenyAllResult struct {
	Denied  []string
	Skipped []string
	AsOf    []byte
}

// DenyAllOpen refuses what is open in one transaction; each refusal is an
// ordinary answer. A repeat under the same key refuses nothing that was asked
// since. By any device. Errors: ErrKeyReused, ErrWrongPrincipal, ErrRevoked,
// store.ErrNotFound.
func (a *App) DenyAllOpen(ctx context.Context, p policy.Principal, c DenyAllOpen) (DenyAllResult, error) {
	var result DenyAllResult
	err := a.onAccount(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		if err := denyScope(tx.Read, p, c); err != nil {
			return err
		}
		var err error
		result, err = once(a, tx, p, "DenyAllOpen", c.Key, c, func() (DenyAllResult, error) { return a.denyAll(tx, inst, c) })
		if err != nil {
			return err
		}
		result.AsOf, err = a.asOf(tx)
		return err
	})
	return result, err
}

// denyScope looks whether what was named is there.
func denyScope(tx *store.Read, p policy.Principal, c DenyAllOpen) error {
	if c.Task != "" {
		if _, err := ownAccount(p, store.KindTask, c.Task); err != nil {
			return err
		}
		if _, err := tx.Task(c.Task); err != nil {
			return err
		}
	}
	if c.Agent != "" {
		_, err := tx.Link(c.Agent)
		return err
	}
	return nil
}

func (a *App) denyAll(tx *store.Tx, inst store.Installation, c DenyAllOpen) (DenyAllResult, error) {
	var result DenyAllResult
	open, err := tx.AllOpenDecisions()
	if err != nil {
		return result, err
	}
	for _, d := range open {
		if c.Task != "" && d.Task != c.Task || c.Agent != "" && d.Agent != c.Agent {
			continue
		}
		// The end of one may end its task, which closes the rest of what it asked.
		if d, err = tx.Decision(d.ID); err != nil {
			return result, err
		}
		if d.Status != decision.Pending {
			continue
		}
		no, ok := d.Refusal()
		if !ok {
			result.Skipped = append(result.Skipped, d.ID)
			continue
		}
		events, outcome, err := decision.Decide(d, decision.GiveAnswer{
			Revision: d.Revision, Asked: d.Asked, Given: decision.StepCredential, Needed: decision.StepCredential,
			Answer: decision.Answer{Items: no, Installation: inst.ID, Label: inst.Label, Surface: c.Surface, Key: c.Key},
		}, tx.Now())
		if err != nil {
			return result, err
		}
		by := inst.ID
		if outcome == decision.Applied {
			result.Denied = append(result.Denied, d.ID)
		} else {
			by = actorServer // its time was over
		}
		if _, err := a.applyDecision(tx, d, events, by); err != nil {
			return result, err
		}
	}
	return result, nil
}
