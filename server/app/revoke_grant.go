package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// RevokeOutcome is what taking an approval back met, as on the wire.
type RevokeOutcome uint8

// Outcomes.
const (
	GrantRevoked RevokeOutcome = 1
	GrantTooLate RevokeOutcome = 2
	GrantEnded   RevokeOutcome = 3
)

// RevokeResult is what happened to the grant.
type RevokeResult struct {
	Outcome RevokeOutcome
	Grant   decision.Grant
	AsOf    []byte
}

// RevokeGrant is the undo of an approval (R13): what is armed becomes void, and
// the agent is told. After GO it is too late, and the grant says since when. It
// only lowers risk, so any device may. Errors: ErrRevoked, store.ErrNotFound.
func (a *App) RevokeGrant(ctx context.Context, p policy.Principal, id string) (RevokeResult, error) {
	account, err := ownAccount(p, store.KindGrant, id)
	if err != nil {
		return RevokeResult{}, err
	}
	var result RevokeResult
	err = a.update(ctx, account, func(tx *store.Tx) error {
		result, err = a.revokeGrant(tx, p, id)
		return err
	})
	return result, err
}

func (a *App) revokeGrant(tx *store.Tx, p policy.Principal, id string) (RevokeResult, error) {
	inst, err := device(tx.Read, p)
	if err != nil {
		return RevokeResult{}, err
	}
	d, err := tx.GrantedBy(id)
	if err != nil {
		return RevokeResult{}, err
	}
	before, _ := d.Grant(id)
	if d, err = a.stepDecision(tx, d, decision.RevokeGrant{ID: id}, inst.ID); err != nil {
		return RevokeResult{}, err
	}
	s, err := tx.Task(d.Task)
	if err != nil {
		return RevokeResult{}, err
	}
	g, _ := d.Grant(id)
	if before.State == decision.Armed && g.State == decision.Void {
		if err := tx.Audit(inst.ID, "grant.revoked", id, ""); err != nil {
			return RevokeResult{}, err
		}
		if s, err = a.signal(tx, s, task.Signal{Kind: task.ApprovalRevoked, Decision: d.ID}); err != nil {
			return RevokeResult{}, err
		}
	}
	result := RevokeResult{Outcome: revokeOutcome(g, s), Grant: g}
	result.AsOf, err = a.asOf(tx)
	return result, err
}

// revokeOutcome: what ended with its task, or by time, was not taken back.
func revokeOutcome(g decision.Grant, s task.State) RevokeOutcome {
	switch {
	case g.State == decision.Consumed:
		return GrantTooLate
	case g.State == decision.Void && !s.Phase.Terminal():
		return GrantRevoked
	default:
		return GrantEnded
	}
}
