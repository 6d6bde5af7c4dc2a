package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/off"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// RequestDecision asks a person.
type RequestDecision struct {
	Held
	// Name is the agent's own stable name for this question within the task.
	Name    string
	Kind    decision.Kind
	Title   string
	Reason  string
	Items   []decision.Item
	Timeout time.Duration
	// OnExpiry says what silence does.
	OnExpiry decision.OnExpiry
	// Supersedes is an open question of the same task.
	Supersedes string
	// Join says how the answers to several items belong together.
	Join decision.Join
	// Calls says when the person is called again.
	Calls decision.Calls
	// Origin is the host it is asked for; nil where there is none.
	Origin *decision.Origin
}

// RequestDecision asks, or finds what was asked before: the same name and
// question give the same decision, also after it was closed, and an identical
// open question of the task is joined under another name. Errors:
// *decision.InvalidError, *proof.InputError, ErrKeyReused, ErrDeniedBefore,
// ErrCeiling, ErrScope, ErrTaskEnded, ErrKillSwitch, ErrUnknownArtifact, *QuotaError, task.ErrLeaseLost,
// store.ErrNotFound.
func (a *App) RequestDecision(ctx context.Context, p policy.Principal, c RequestDecision) (decision.State, error) {
	account, err := accountOf(store.KindTask, c.Task)
	if err != nil {
		return decision.State{}, err
	}
	lease, err := leaseFor(p, c.Lease)
	if err != nil {
		return decision.State{}, err
	}
	// Everything slow happens before the transaction: canonical JSON, hashes.
	asked, err := prepare(c, a.clock())
	if err != nil {
		return decision.State{}, err
	}
	var result decision.State
	err = a.updateAt(ctx, account, "decision.committed", func(tx *store.Tx) error {
		result, err = a.requestDecision(tx, p, c, lease, asked)
		return err
	})
	return result, err
}

// prepare completes a question and computes its digests.
func prepare(c RequestDecision, now time.Time) (decision.State, error) {
	d := decision.State{
		Task: c.Task, Key: c.Name, Kind: c.Kind, Title: c.Title, Reason: c.Reason,
		Items: c.Items, OnExpiry: c.OnExpiry, Join: c.Join,
		Origin: c.Origin,
	}
	if c.Timeout > 0 {
		d.ExpireTime = now.Add(c.Timeout)
	}
	if d.Origin != nil {
		o := *d.Origin
		o.RawDigest = decision.Digest(proof.Sum(o.Raw))
		d.Origin = &o
	}
	d, err := decision.AskWith(d, c.Calls, now)
	if err != nil {
		return d, err
	}
	if err := checkSchemas(d.Items); err != nil {
		return d, err
	}
	return withDigests(d)
}

// withDigests computes what names a card and its actions.
func withDigests(d decision.State) (decision.State, error) {
	items := make([]proof.AskedItem, len(d.Items))
	for i, it := range d.Items {
		items[i] = proof.AskedItem{ItemID: it.ID, Question: it.Question, ResponseSchema: it.Schema, URL: it.URL}
		if it.Action != nil {
			digest, err := proof.ActionDigest(it.Action.App, it.Action.Connection, it.Action.Operation, it.Action.ArgsJSON, it.Action.TargetJSON)
			if err != nil {
				return d, itemError(i, err)
			}
			act := *it.Action
			act.Digest = decision.Digest(digest)
			d.Items[i].Action = &act
			items[i].Action, items[i].Question = digest, ""
		}
		for _, o := range it.Options {
			items[i].Options = append(items[i].Options, proof.Option{ID: o.ID, Kind: o.Kind.String()})
		}
	}
	digest, err := proof.AskedDigest(d.Kind.String(), items)
	d.Asked = decision.Digest(digest)
	return d, err
}

// itemError puts the item in front of the field that was refused.
func itemError(i int, err error) error {
	var input *proof.InputError
	if !errors.As(err, &input) {
		return err
	}
	field := itemField(i, "action.args_json")
	if input.Field == "target" {
		field = itemField(i, "action.target_json")
	}
	return &FieldError{Field: field, Reason: string(input.Reason)}
}

func (a *App) requestDecision(tx *store.Tx, p policy.Principal, c RequestDecision, lease string, d decision.State) (decision.State, error) {
	s, err := workTask(tx.Read, p, c.Task, store.ScopeDecisionRequest)
	if err != nil {
		return d, err
	}
	if err := mayAct(tx.Read, p); err != nil {
		return d, err
	}
	if id, found, err := tx.AskedAs(s.ID, c.Name); err != nil || found {
		return replay(tx.Read, id, d.Asked, err)
	}
	if s.Phase.Terminal() {
		return d, ErrTaskEnded
	}
	if s.Phase != task.Running || s.Lease.ID != lease {
		return d, task.ErrLeaseLost
	}
	if s, err = speak(tx, s, lease); err != nil {
		return d, err
	}
	link, err := tx.Link(s.Agent)
	if err != nil {
		return d, err
	}
	if d.Class > link.Ceiling {
		return d, ErrCeiling
	}
	for _, it := range d.Items {
		if err := hasEvidence(tx.Read, s.ID, it.Evidence); err != nil {
			return d, err
		}
	}
	if err := deniedBefore(tx.Read, s.ID, d); err != nil {
		return d, err
	}
	open, err := ownQuestions(tx.Read, s.ID)
	if err != nil {
		return d, err
	}
	for _, other := range open {
		if decision.SameCard(other, d) && other.ID != c.Supersedes && other.Open(tx.Now()) {
			return other, tx.PutAskedAs(s.ID, c.Name, other.ID)
		}
	}
	if c.Supersedes != "" {
		if err := a.supersede(tx, p, s, c.Supersedes); err != nil {
			return d, err
		}
		// The old card makes room for the new one.
		if open, err = ownQuestions(tx.Read, s.ID); err != nil {
			return d, err
		}
	}
	if err := a.openQuota(tx, len(open)); err != nil {
		return d, err
	}
	return a.openDecision(tx, p.ID(), s, d)
}

// replay finds what was asked under this name before.
func replay(tx *store.Read, id string, asked decision.Digest, err error) (decision.State, error) {
	if err != nil {
		return decision.State{}, err
	}
	d, err := tx.Decision(id)
	if err == nil && d.Asked != asked {
		err = ErrKeyReused
	}
	return d, err
}

func deniedBefore(tx *store.Read, id string, d decision.State) error {
	digests := []decision.Digest{d.Asked}
	for _, it := range d.Items {
		if it.Action != nil {
			digests = append(digests, it.Action.Digest)
		}
	}
	for _, digest := range digests {
		denied, err := tx.Denied(id, digest)
		if err != nil {
			return err
		}
		if denied && !off.Rule("R12") {
			return ErrDeniedBefore
		}
	}
	return nil
}

func (a *App) supersede(tx *store.Tx, p policy.Principal, s task.State, id string) error {
	old, err := tx.Decision(id)
	if err != nil || old.Task != s.ID || old.Kind.OfServer() {
		return &FieldError{Field: "supersedes", Reason: "UNKNOWN_DECISION"}
	}
	_, err = a.stepDecision(tx, old, decision.Close{To: decision.Superseded, Reason: "A newer question took its place."}, p.ID())
	return err
}

func (a *App) openQuota(tx *store.Tx, ofTask int) error {
	if ofTask >= a.limits.OpenDecisionsPerTask {
		return &QuotaError{What: "open_decisions_of_task", Max: int64(a.limits.OpenDecisionsPerTask)}
	}
	if int(tx.Counters().OpenDecisions) >= a.limits.OpenDecisions {
		return &QuotaError{What: "open_decisions", Max: int64(a.limits.OpenDecisions)}
	}
	return nil
}

// openDecision writes the question, shows it in its thread and calls the
// person. by is who asks, for the audit.
func (a *App) openDecision(tx *store.Tx, by string, s task.State, d decision.State) (decision.State, error) {
	if d.ID == "" {
		var err error
		if d.ID, err = a.newID(tx.Read, store.KindDecision); err != nil {
			return d, err
		}
	}
	d = d.Move(tx.Now().Sub(d.CreateTime))
	d.Task, d.Thread, d.Agent, d.CreateTime = s.ID, s.Thread, s.Agent, tx.Now()
	if d.Key != "" {
		if err := tx.PutAskedAs(s.ID, d.Key, d.ID); err != nil {
			return d, err
		}
	}
	if err := tx.Audit(by, "decision.asked", d.ID, d.Kind.String()); err != nil {
		return d, err
	}
	return d, a.showCard(tx, d)
}

// showCard stores a card as it is now, brings its thread to the top and calls
// the person to look at this revision of it.
func (a *App) showCard(tx *store.Tx, d decision.State) error {
	if err := tx.PutDecision(d); err != nil {
		return err
	}
	th, err := tx.Thread(d.Thread)
	if err != nil {
		return err
	}
	if err := tx.PutThread(thread.Asked(th, tx.Now()), true); err != nil {
		return err
	}
	return a.callPerson(tx, d)
}

// callPerson calls the person to look at a question that is not put aside.
func (a *App) callPerson(tx *store.Tx, d decision.State) error {
	if !d.Wanted(tx.Now()) {
		return nil
	}
	_, err := a.plan(tx, plan.DecisionOpened{
		Subject: decisionSubject(d), Round: d.Round, Deadline: d.ExpireTime, Grace: a.limits.PresenceGrace,
		Shows: func(device string) bool { return a.screens.shows(device, d.Thread, tx.Now()) },
	})
	return err
}
