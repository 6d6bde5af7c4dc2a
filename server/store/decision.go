package store

import (
	"bytes"
	"slices"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
)

// Decision reads a decision.
func (r *Read) Decision(id string) (decision.State, error) {
	thread, err := r.r.Get(tabThreadOf, accountKey(r.account, id))
	if err != nil {
		return decision.State{}, err
	}
	if thread == nil {
		return decision.State{}, ErrNotFound
	}
	row, found, err := getEntity(r.r, entityKey(r.account, changelog.ThreadScope(string(thread)), changelog.Key{Kind: changelog.Decision, ID: id}))
	if err != nil {
		return decision.State{}, err
	}
	if !found || row.Deleted {
		return decision.State{}, ErrNotFound
	}
	return decodeEntity(entDecision, row.Body)
}

// GrantedBy finds the decision that armed a grant.
func (r *Read) GrantedBy(grant string) (decision.State, error) {
	id, err := r.r.Get(tabGrantOf, accountKey(r.account, grant))
	if err != nil {
		return decision.State{}, err
	}
	if id == nil {
		return decision.State{}, ErrNotFound
	}
	return r.Decision(string(id))
}

// DecisionsOf lists the decisions of a task, newest first, at most n.
func (r *Read) DecisionsOf(task string, n int) ([]decision.State, error) {
	return r.decisions(tabAsked, task, n)
}

// OpenDecisions lists the open decisions of a task, newest first.
func (r *Read) OpenDecisions(task string) ([]decision.State, error) {
	all, err := r.UnsettledDecisions(task)
	return slices.DeleteFunc(all, func(d decision.State) bool { return d.Status != decision.Pending }), err
}

// AllOpenDecisions lists the open decisions of the account, task by task.
func (r *Read) AllOpenDecisions() ([]decision.State, error) {
	var ids []string
	prefix := append([]byte(r.account), 0)
	err := r.r.Scan(tabOpen, prefix, after(prefix), func(k, _ []byte) bool {
		ids = append(ids, string(k[bytes.LastIndexByte(k, 0)+1:]))
		return true
	})
	if err != nil {
		return nil, err
	}
	var out []decision.State
	for _, id := range ids {
		d, err := r.Decision(id)
		if err != nil {
			return nil, err
		}
		if d.Status == decision.Pending {
			out = append(out, d)
		}
	}
	return out, nil
}

// UnsettledDecisions lists what the end of a task has to close, newest first:
// open decisions, and closed ones whose grants are still armed. A task that
// asked ten thousand questions ends as quickly as one that asked two.
func (r *Read) UnsettledDecisions(task string) ([]decision.State, error) {
	return r.decisions(tabOpen, task, 1<<20)
}

func (r *Read) decisions(table Table, task string, n int) ([]decision.State, error) {
	var ids []string
	prefix := append(accountKey(r.account, task), 0)
	err := r.r.ScanBack(table, prefix, after(prefix), func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix):]))
		return len(ids) < n
	})
	if err != nil {
		return nil, err
	}
	out := make([]decision.State, 0, len(ids))
	for _, id := range ids {
		d, err := r.Decision(id)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// PutDecision writes a decision with everything that follows from it: the
// whole for its thread, the header for lists, when time moves it, and whether
// it asks for attention.
func (t *Tx) PutDecision(s decision.State) error {
	open := s.Status == decision.Pending
	if err := t.w.Put(tabThreadOf, accountKey(t.account, s.ID), []byte(s.Thread)); err != nil {
		return err
	}
	if err := t.w.Put(tabAsked, accountKey(t.account, s.Task, s.ID), []byte{1}); err != nil {
		return err
	}
	for _, g := range s.Grants {
		if err := t.w.Put(tabGrantOf, accountKey(t.account, g.ID), []byte(s.ID)); err != nil {
			return err
		}
	}
	if err := t.setUnsettled(s, open || armed(s)); err != nil {
		return err
	}
	if err := t.setAttention(attentionDecision, s.ID, s.Wanted(t.Now())); err != nil {
		return err
	}
	if err := t.setDue(DueDecision, s.ID, s.NextTime()); err != nil {
		return err
	}
	t.Touch("decision:" + s.ID)
	if err := publishAs(t, changelog.ThreadScope(s.Thread), entDecision, s.ID, s); err != nil {
		return err
	}
	return publishAs(t, changelog.AccountScope, entDecisionHeader, s.ID, decisionHeader(s))
}

func armed(s decision.State) bool {
	return slices.ContainsFunc(s.Grants, func(g decision.Grant) bool { return g.State == decision.Armed })
}

func (t *Tx) setUnsettled(s decision.State, unsettled bool) error {
	key := accountKey(t.account, s.Task, s.ID)
	if unsettled {
		return t.w.Put(tabOpen, key, []byte{1})
	}
	return t.w.Delete(tabOpen, key)
}

func decisionHeader(s decision.State) DecisionHeader {
	h := DecisionHeader{
		ID: s.ID, Task: s.Task, Thread: s.Thread, Agent: s.Agent, Status: s.Status, Kind: s.Kind,
		Title: s.Title, Revision: s.Revision, Class: s.Class, ExpireTime: s.ExpireTime, CreateTime: s.CreateTime,
		SnoozeUntil: s.SnoozeUntil,
	}
	if s.Answer != nil {
		h.Winner = &Winner{Installation: s.Answer.Installation, Label: s.Answer.Label, Surface: s.Answer.Surface, Time: s.Answer.Time}
	}
	return h
}

// AskedAs finds the decision that an agent's own name stands for in a task.
func (r *Read) AskedAs(task, key string) (string, bool, error) {
	b, err := r.r.Get(tabAskKey, accountKey(r.account, task, "ask", key))
	return string(b), b != nil, err
}

// PutAskedAs remembers the decision that an agent's own name stands for.
func (t *Tx) PutAskedAs(task, key, decision string) error {
	return t.w.Put(tabAskKey, accountKey(t.account, task, "ask", key), []byte(decision))
}

// Denied reports whether a digest was denied in a task since the person last
// wrote there.
func (r *Read) Denied(task string, d decision.Digest) (bool, error) {
	b, err := r.r.Get(tabDenied, accountKey(r.account, task, string(d[:])))
	return b != nil, err
}

// PutDenied refuses a digest in a task from now on.
func (t *Tx) PutDenied(task string, d decision.Digest) error {
	return t.w.Put(tabDenied, accountKey(t.account, task, string(d[:])), []byte{1})
}

// ClearDenied forgets what was denied in a task: the person wrote.
func (t *Tx) ClearDenied(task string) error {
	var keys [][]byte
	prefix := append(accountKey(t.account, task), 0)
	err := t.r.Scan(tabDenied, prefix, after(prefix), func(k, _ []byte) bool {
		keys = append(keys, append([]byte(nil), k...))
		return true
	})
	for _, k := range keys {
		if err == nil {
			err = t.w.Delete(tabDenied, k)
		}
	}
	return err
}
