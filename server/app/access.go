package app

import (
	"slices"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// accountOf routes an id to its account. A malformed id is an unknown one.
func accountOf(kind, id string) (string, error) {
	account, ok := store.AccountKeyOf(kind, id)
	if !ok {
		return "", store.ErrNotFound
	}
	return account, nil
}

// ownAccount routes an id for a person: another account's id is unknown.
func ownAccount(p policy.Principal, kind, id string) (string, error) {
	account, err := accountOf(kind, id)
	if err == nil && p.Person() && p.Account != account {
		err = store.ErrNotFound
	}
	return account, err
}

// linked refuses an agent whose link to this account is not alive or lacks the
// scope. An agent without any link learns nothing: what it asks for does not
// exist for it.
func linked(tx *store.Read, agent string, scope store.AgentScope) error {
	link, err := tx.Link(agent)
	if err != nil {
		return err
	}
	if link.Revoked {
		return ErrRevoked
	}
	if !slices.Contains(link.Scopes, scope) {
		return ErrScope
	}
	return nil
}

// mayAct refuses a program while its person has stopped every agent (R16). It
// is asked in the transaction of each change, so that none slips past a switch
// that was turned in the meantime.
func mayAct(tx *store.Read, p policy.Principal) error {
	if p.Person() {
		return nil
	}
	s, err := tx.Settings()
	if err == nil && s.KillSwitch.On() {
		err = ErrKillSwitch
	}
	return err
}

// workTask reads a task for the program that works on it.
func workTask(tx *store.Read, p policy.Principal, id string, scope store.AgentScope) (task.State, error) {
	s, err := tx.Task(id)
	if err != nil {
		return s, err
	}
	if !p.Works(s.Agent, s.ID) {
		return s, store.ErrNotFound
	}
	return s, linked(tx, s.Agent, scope)
}

// readTask reads a task for whoever may see it: its person, or its agent.
func readTask(tx *store.Read, p policy.Principal, id string) (task.State, error) {
	if p.Person() {
		return tx.Task(id)
	}
	return workTask(tx, p, id, store.ScopeReadOwn)
}

// leaseFor is the lease a worker's call is under: a task token is bound to
// one, and any other is lost to it.
func leaseFor(p policy.Principal, named string) (string, error) {
	if p.Kind != policy.TaskToken {
		return named, nil
	}
	if named != "" && named != p.Lease {
		return "", task.ErrLeaseLost
	}
	return p.Lease, nil
}

// device reads the calling installation; one that was revoked since the
// credential was checked is refused here.
func device(tx *store.Read, p policy.Principal) (store.Installation, error) {
	inst, err := tx.Installation(p.Installation)
	if err != nil {
		return inst, err
	}
	if inst.State == store.InstallationRevoked {
		return inst, ErrRevoked
	}
	return inst, nil
}

// verified lets the calling installation make a change of the account itself:
// past probation, and the person present (S3), which the first minutes after a
// claim count as.
func verified(tx *store.Read, p policy.Principal) error {
	inst, err := device(tx, p)
	if err != nil {
		return err
	}
	now := tx.Now()
	if !inst.Full(now) {
		return ErrWrongPrincipal
	}
	if now.Before(inst.FullUntil) || now.Before(inst.ElevatedUntil) {
		return nil
	}
	needed := decision.StepVerified
	if len(inst.ApprovalKey) == 0 {
		needed = decision.StepOtherDevice
	}
	return &StepUpError{Needed: needed}
}
