package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// workVerbs are the calls that a worker makes under its lease.
var workVerbs = map[string]func(a *app.App, p policy.Principal, held app.Held) error{
	"Heartbeat": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.Heartbeat(context.Background(), p, app.Heartbeat{Held: held, Wait: time.Minute})
		return err
	},
	"SaveCheckpoint": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.SaveCheckpoint(context.Background(), p, app.SaveCheckpoint{Held: held, Ack: []uint64{1}})
		return err
	},
	"YieldTask": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.YieldTask(context.Background(), p, app.YieldTask{
			Held: held, Wait: task.Wait{Until: time.Now().AddDate(100, 0, 0)}, Checkpoint: &app.CheckpointWrite{}, Ack: []uint64{1},
		})
		return err
	},
	"ReleaseTask": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.ReleaseTask(context.Background(), p, held)
		return err
	},
	"CompleteTask": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.CompleteTask(context.Background(), p, app.CompleteTask{Held: held, Ack: []uint64{1}, Result: &task.Result{Summary: "s"}})
		return err
	},
	"FailTask": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.FailTask(context.Background(), p, app.FailTask{Held: held, Failure: task.Failure{Code: "broken"}})
		return err
	},
	"AckSignals": func(a *app.App, p policy.Principal, held app.Held) error {
		return a.AckSignals(context.Background(), p, app.AckSignals{Held: held, Signals: []uint64{1}})
	},
	"UpdateProgress": func(a *app.App, p policy.Principal, held app.Held) error {
		return a.UpdateProgress(context.Background(), p, app.UpdateProgress{Held: held, Progress: task.Progress{Text: "half"}})
	},
	"AppendItems": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.AppendItems(context.Background(), p, app.AppendItems{Held: held, Items: []app.ItemDraft{{ClientID: "c", Role: thread.RoleAgent, Kind: thread.Message, Notable: true}}})
		return err
	},
	"RequestDecision": func(a *app.App, p policy.Principal, held app.Held) error {
		_, err := a.RequestDecision(context.Background(), p, app.RequestDecision{
			Held: held, Name: "n", Kind: decision.Text, Title: "t", Items: []decision.Item{{ID: "i", Question: "q"}},
		})
		return err
	},
}

// R3 and R29: whatever a worker calls under another lease, for a task that is
// not its own, or without the right to work, changes nothing.
func TestWork_RefusedChangesNothing(t *testing.T) {
	t.Parallel()
	for verb, call := range workVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("mine")
			h.say(s.Thread, "a signal")
			ready := h.createTask("ready")
			stranger := h.newAccount()
			loner, _ := h.newAgent(stranger, "Loner")
			foreign := h.foreignTask(stranger, loner)
			friend, _ := h.newAgent(h.account, "Friend")
			token := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: s.ID, Lease: held.Lease}
			never := s.ID[:len(s.ID)-26] + "00000000000000000000000000"
			for name, c := range map[string]struct {
				as   policy.Principal
				held app.Held
				want error
			}{
				"another lease":            {h.agent, app.Held{Task: s.ID, Lease: "lse_other"}, task.ErrLeaseLost},
				"no lease":                 {h.agent, app.Held{Task: s.ID}, task.ErrLeaseLost},
				"nobody holds it":          {h.agent, app.Held{Task: ready.ID, Lease: held.Lease}, task.ErrLeaseLost},
				"another agent":            {friend, held, store.ErrNotFound},
				"foreign task":             {h.agent, app.Held{Task: foreign.ID, Lease: foreign.Lease.ID}, store.ErrNotFound},
				"foreign agent":            {loner, held, store.ErrNotFound},
				"task that never was":      {h.agent, app.Held{Task: never, Lease: held.Lease}, store.ErrNotFound},
				"malformed id":             {h.agent, app.Held{Task: "tsk_x", Lease: held.Lease}, store.ErrNotFound},
				"id of another kind":       {h.agent, app.Held{Task: s.Thread, Lease: held.Lease}, store.ErrNotFound},
				"task token, other task":   {token, app.Held{Task: ready.ID}, store.ErrNotFound},
				"task token, other lease":  {token, app.Held{Task: s.ID, Lease: "lse_other"}, task.ErrLeaseLost},
				"task token of lost lease": {policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: s.ID, Lease: "lse_old"}, app.Held{Task: s.ID}, task.ErrLeaseLost},
			} {
				before := h.commits.n.Load()
				sameNamed(t, name, call(h.app, c.as, c.held), c.want)
				if h.commits.n.Load() != before {
					t.Errorf("%s: something was written", name)
				}
			}
			h.link(func(l *store.AgentLink) { l.Scopes = []store.AgentScope{store.ScopeReadOwn} })
			sameNamed(t, "no scope", call(h.app, h.agent, held), app.ErrScope)
			h.link(func(l *store.AgentLink) { l.Revoked = true })
			sameNamed(t, "revoked", call(h.app, h.agent, held), app.ErrRevoked)
			if got := h.task(s.ID); got.Phase != task.Running || got.Checkpoint != 0 || got.Progress.Text != "" || len(h.signals(s.ID)) != 1 {
				t.Errorf("the task changed: %+v", got)
			}
		})
	}
}

// A task token works without naming its lease.
func TestWork_TaskTokenKnowsItsLease(t *testing.T) {
	t.Parallel()
	for verb, call := range workVerbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("mine")
			token := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: s.ID, Lease: held.Lease}
			if verb == "Heartbeat" {
				_, err := h.app.Heartbeat(t.Context(), token, app.Heartbeat{Held: app.Held{Task: s.ID}})
				check(t, err)
				return
			}
			check(t, call(h.app, token, app.Held{Task: s.ID}))
		})
	}
}

func sameNamed(t *testing.T, name string, got, want error) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		sameError(t, got, want)
	})
}
