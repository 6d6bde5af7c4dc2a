package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
)

// BeginEffect asks for GO.
type BeginEffect struct {
	Held
	// Name is the agent's own stable name for this effect within the task.
	Name string
	// Grant is consumed. Action is what is done: needed without a grant, and
	// compared with what was approved where both are named.
	Grant  string
	Action *decision.Action
	// ProviderKey and Probe are the agent's words about the outside.
	ProviderKey, Probe string
	// Attempt is the random name of this very call.
	Attempt string
}

// BeginResult is GO, or what is known.
type BeginResult struct {
	Go     bool
	Effect effect.State
	// Permit and its end come with GO.
	Permit           string
	PermitExpireTime time.Time
}

// BeginEffect says GO, once per generation, and consumes the grant in the same
// transaction; or it says what is known already (R14). Holds, the kill switch,
// the agent's link and denials are looked at again here, not only when it was
// asked. Errors: task.ErrLeaseLost, ErrHeld, ErrNeedsGrant, decision.ErrGrantUsed,
// decision.ErrGrantVoid, decision.ErrGrantExpired, decision.ErrGrantDiffers,
// effect.ErrOtherAction, ErrDeniedBefore, ErrCeiling, ErrScope, ErrRevoked,
// ErrKillSwitch, *QuotaError, *FieldError, store.ErrNotFound.
func (a *App) BeginEffect(ctx context.Context, p policy.Principal, c BeginEffect) (BeginResult, error) {
	account, err := accountOf(store.KindTask, c.Task)
	if err != nil {
		return BeginResult{}, err
	}
	lease, err := leaseFor(p, c.Lease)
	if err != nil {
		return BeginResult{}, err
	}
	// Canonical JSON and hashes come before the transaction.
	want, err := a.frozen(ctx, account, c)
	if err != nil {
		return BeginResult{}, err
	}
	var result BeginResult
	var now time.Time
	err = a.updateAt(ctx, account, "effect.begun", func(tx *store.Tx) error {
		now = tx.Now()
		result, err = a.beginEffect(tx, p, c, lease, want)
		return err
	})
	if err != nil {
		return BeginResult{}, err // what was not committed was not said
	}
	if !result.Go {
		return result, nil
	}
	e := result.Effect
	result.Permit, result.PermitExpireTime, err = a.tokens.Permit(PermitGrant{
		Account: account, Agent: e.Agent, Task: e.Task, Effect: e.ID, Generation: e.Generation,
		App: e.Action.App, Connection: e.Action.Connection, Operation: e.Action.Operation, Digest: e.Digest, Now: now,
	})
	return result, err
}

// frozen is the action of a begin with its digest, computed from the bytes that
// are there: the approved ones for a grant. An action named beside a grant has
// to be the approved one.
func (a *App) frozen(ctx context.Context, account string, c BeginEffect) (decision.Action, error) {
	if c.Grant == "" && c.Action == nil {
		return decision.Action{}, &FieldError{Field: "grant_id", Reason: "MISSING"}
	}
	var named decision.Action
	if c.Action != nil {
		var err error
		if named, err = digested(*c.Action); err != nil || c.Grant == "" {
			return named, err
		}
	}
	var approved decision.Action
	err := a.store.View(ctx, account, func(tx *store.Read) error {
		_, action, err := granted(tx, c.Task, c.Grant)
		approved = action
		return err
	})
	if err != nil {
		return approved, err
	}
	if approved, err = digested(approved); err != nil || c.Action == nil {
		return approved, err
	}
	if named.Digest != approved.Digest {
		return approved, decision.ErrGrantDiffers
	}
	if policy.ClassOf(named) > policy.ClassOf(approved) {
		// What is riskier than it was said to be has to be asked again.
		return approved, ErrNeedsGrant
	}
	return approved, nil
}

// digested computes the digest of an action.
func digested(act decision.Action) (decision.Action, error) {
	digest, err := proof.ActionDigest(act.App, act.Connection, act.Operation, act.ArgsJSON, act.TargetJSON)
	if input, ok := errors.AsType[*proof.InputError](err); ok {
		field := "action.args_json"
		if input.Field == "target" {
			field = "action.target_json"
		}
		return act, &FieldError{Field: field, Reason: string(input.Reason)}
	}
	act.Digest = decision.Digest(digest)
	return act, err
}

// granted finds the decision that armed a grant of a task, and the action the
// grant is for. One of another task is unknown: two tasks never share a grant.
func granted(tx *store.Read, task, id string) (decision.State, decision.Action, error) {
	d, err := tx.GrantedBy(id)
	if err != nil {
		return d, decision.Action{}, err
	}
	g, _ := d.Grant(id)
	action, ok := d.Permitted(g.Item)
	if d.Task != task || !ok {
		return d, decision.Action{}, store.ErrNotFound
	}
	return d, action, nil
}

func (a *App) beginEffect(tx *store.Tx, p policy.Principal, c BeginEffect, lease string, want decision.Action) (BeginResult, error) {
	s, err := a.mayBegin(tx, p, c.Task, lease, want)
	if err != nil {
		return BeginResult{}, err
	}
	e, found, err := tx.EffectNamed(s.ID, c.Name)
	if err != nil {
		return BeginResult{}, err
	}
	if !found {
		if e, err = a.newEffect(tx, p, s, c, want); err != nil {
			return BeginResult{}, err
		}
	}
	begin := effect.Begin{
		Digest: proof.Digest(want.Digest), Attempt: c.Attempt,
		// It may have been begun in what a restore has lost.
		Doubtful: s.Restored && !off.Rule("R28"),
	}
	if begin.Alive, err = permitted(tx.Read, e); err != nil {
		return BeginResult{}, err
	}
	e, outcome, err := a.stepEffect(tx, e, begin, p.ID())
	return BeginResult{Go: outcome == effect.Go, Effect: e}, err
}

// mayBegin looks again at everything that may have changed since the person
// said yes.
func (a *App) mayBegin(tx *store.Tx, p policy.Principal, id, lease string, want decision.Action) (task.State, error) {
	s, err := workTask(tx.Read, p, id, store.ScopeEffectWrite)
	if err != nil {
		return s, err
	}
	if err := mayAct(tx.Read, p); err != nil {
		return s, err
	}
	if s.Phase != task.Running || s.Lease.ID != lease {
		return s, task.ErrLeaseLost
	}
	if s.Hold.Kind != task.HoldNone {
		return s, ErrHeld
	}
	link, err := tx.Link(s.Agent)
	if err != nil {
		return s, err
	}
	if policy.ClassOf(want) > link.Ceiling {
		return s, ErrCeiling
	}
	denied, err := tx.Denied(s.ID, want.Digest)
	if err == nil && denied {
		err = ErrDeniedBefore
	}
	return s, err
}

// newEffect makes the row of an effect that was never begun, and consumes its
// grant. Without one only what a rule allows may be done.
func (a *App) newEffect(tx *store.Tx, p policy.Principal, s task.State, c BeginEffect, want decision.Action) (effect.State, error) {
	n, err := tx.EffectsAtWorkCount(s.ID)
	if err != nil {
		return effect.State{}, err
	}
	if n >= a.limits.OpenEffectsPerTask {
		return effect.State{}, &QuotaError{What: "open_effects_of_task", Max: int64(a.limits.OpenEffectsPerTask)}
	}
	id, err := a.newID(tx.Read, store.KindEffect)
	if err != nil {
		return effect.State{}, err
	}
	e := effect.State{
		ID: id, Key: c.Name, Task: s.ID, Thread: s.Thread, Agent: s.Agent,
		Action: effect.Action{
			App: want.App, Connection: want.Connection, Operation: want.Operation,
			ArgsJSON: want.ArgsJSON, TargetJSON: want.TargetJSON,
		},
		Digest: proof.Digest(want.Digest), Class: uint8(policy.ClassOf(want)),
		ProviderKey: c.ProviderKey, Probe: c.Probe,
	}
	if c.Grant == "" {
		if policy.ByClass(policy.ClassOf(want)) != policy.Allow {
			return e, ErrNeedsGrant
		}
		return e, nil
	}
	d, _, err := granted(tx.Read, s.ID, c.Grant)
	if err != nil {
		return e, err
	}
	if _, err := a.stepDecision(tx, d, decision.UseGrant{ID: c.Grant, Effect: id, Digest: want.Digest}, p.ID()); err != nil {
		return e, err
	}
	e.Grant, e.Decision = c.Grant, d.ID
	return e, tx.Audit(p.ID(), "grant.consumed", c.Grant, id)
}

// permitted reports whether what an effect was begun by still stands: its grant,
// or the rule that allowed it.
func permitted(tx *store.Read, e effect.State) (bool, error) {
	if e.Grant == "" {
		return policy.ByClass(decision.Class(e.Class)) == policy.Allow, nil
	}
	d, err := tx.Decision(e.Decision)
	if err != nil {
		return false, err
	}
	g, _ := d.Grant(e.Grant)
	return g.Good(e.ID, tx.Now()), nil
}
