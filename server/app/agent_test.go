package app_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

func everyScope() []store.AgentScope {
	return []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork, store.ScopeDecisionRequest, store.ScopeReadOwn, store.ScopeEffectWrite}
}

func TestCreateAgent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	create := func(c app.CreateAgent) (store.AgentLink, error) {
		return h.app.CreateAgent(t.Context(), h.phone.Principal, c)
	}
	_, err := create(app.CreateAgent{Key: "k", Name: "Mail"})
	refusedStep(t, "nobody there", err, decision.StepVerified)
	h.elevate(h.phone)
	link, err := create(app.CreateAgent{Key: "k", Name: "Mail"})
	check(t, err)
	want := store.AgentLink{
		Agent: link.Agent, Name: "Mail", Scopes: everyScope(), Ceiling: decision.WriteReversible, CreateTime: h.clock.Now(),
	}
	if diff := cmp.Diff(want, link); diff != "" {
		t.Errorf("link:\n%s", diff)
	}
	h.clock.Advance(time.Second)
	again, err := create(app.CreateAgent{Key: "k", Name: "Mail"})
	check(t, err)
	if diff := cmp.Diff(link, again); diff != "" {
		t.Errorf("the same key made another:\n%s", diff)
	}
	_, err = create(app.CreateAgent{Key: "k", Name: "Other"})
	refused(t, "the key with another name", err, app.ErrKeyReused)
	none, top, over := decision.ReadPublic, decision.Irreversible, decision.Irreversible+1
	low, err := create(app.CreateAgent{Key: "l", Name: "Low", Ceiling: &none})
	check(t, err)
	high, err := create(app.CreateAgent{Key: "h", Name: "High", Ceiling: &top, LockScreen: true})
	check(t, err)
	if low.Ceiling != none || high.Ceiling != top || !high.LockScreen {
		t.Errorf("ceilings %v, %v, opt-in %v", low.Ceiling, high.Ceiling, high.LockScreen)
	}
	_, err = create(app.CreateAgent{Key: "o", Name: "Over", Ceiling: &over})
	refusedField(t, "no such class", err, "ceiling")
}

func TestAgentQuota(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.Agents = 2 }))
	h.elevate(h.phone)
	second, err := h.app.CreateAgent(t.Context(), h.phone.Principal, app.CreateAgent{Key: "a", Name: "A"})
	check(t, err)
	_, err = h.app.CreateAgent(t.Context(), h.phone.Principal, app.CreateAgent{Key: "b", Name: "B"})
	refusedQuota(t, "create", err, "agents", 2)
	stranger, _ := h.newAgent(h.newAccount(), "Stranger")
	_, err = h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: stranger.Agent})
	refusedQuota(t, "link", err, "agents", 2)
	_, err = h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: second.Agent})
	refused(t, "change a link", err, nil)
	_, err = h.app.UnlinkAgent(t.Context(), h.phone.Principal, second.Agent)
	check(t, err)
	_, err = h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: stranger.Agent})
	refused(t, "link in its place", err, nil)
}

func TestLinkAgent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	owner := h.newAccount()
	foreign, _ := h.newAgent(owner, "Foreign")
	ceiling := decision.Outward
	link := func(c app.LinkAgent) (store.AgentLink, error) {
		return h.app.LinkAgent(t.Context(), h.phone.Principal, c)
	}
	_, err := link(app.LinkAgent{Agent: foreign.Agent})
	refusedStep(t, "nobody there", err, decision.StepVerified)
	h.elevate(h.phone)
	before := h.standing(owner)
	got, err := link(app.LinkAgent{
		Agent: foreign.Agent, Ceiling: &ceiling, LockScreen: true,
		Scopes: []store.AgentScope{store.ScopeTaskWork, store.ScopeTaskCreate, store.ScopeTaskWork},
	})
	check(t, err)
	want := store.AgentLink{
		Agent: foreign.Agent, Name: "Foreign", Ceiling: ceiling, LockScreen: true, CreateTime: h.clock.Now(),
		Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("link:\n%s", diff)
	}
	if h.standing(owner) != before {
		t.Error("the owner's account moved")
	}
	_, err = h.app.CreateTask(t.Context(), foreign, app.CreateTask{Key: "k", Account: store.AccountID(h.account), Title: "T"})
	refused(t, "a task by the linked agent", err, nil)

	h.clock.Advance(time.Minute)
	changed, err := link(app.LinkAgent{Agent: foreign.Agent})
	check(t, err)
	want.Ceiling, want.LockScreen, want.Scopes = decision.WriteReversible, false, everyScope()
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed link:\n%s", diff)
	}
	_, err = h.app.UnlinkAgent(t.Context(), h.phone.Principal, foreign.Agent)
	check(t, err)
	anew, err := link(app.LinkAgent{Agent: foreign.Agent})
	check(t, err)
	if anew.Revoked || !anew.CreateTime.Equal(h.clock.Now()) {
		t.Errorf("linked anew: %+v", anew)
	}
	_, err = link(app.LinkAgent{Agent: foreign.Agent, Scopes: []store.AgentScope{6}})
	refusedField(t, "no such scope", err, "scopes")
	over := decision.Irreversible + 1
	_, err = link(app.LinkAgent{Agent: foreign.Agent, Ceiling: &over})
	refusedField(t, "no such class", err, "ceiling")
}

// R7: with the link everything the agent holds in this account ends, and
// nothing else does.
func TestUnlinkAgent(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	other, _ := h.newAgent(h.account, "Other")
	elsewhere := h.newAccount()
	h.update(elsewhere, func(tx *store.Tx) error {
		return tx.PutLink(store.AgentLink{Agent: h.agent.Agent, Name: "Builder", Scopes: everyScope()})
	})
	here := store.AccountID(h.account)
	start := func(p policy.Principal, title, account string) (task.State, app.Held) {
		r, err := h.app.CreateTask(t.Context(), p, app.CreateTask{
			Key: title, Title: title, Account: account, Claim: &app.ClaimOptions{ID: title},
		})
		check(t, err)
		return r.Task, app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
	}
	running, held := start(h.agent, "running", here)
	asked := h.ask(held, "open", decision.WriteReversible)
	granted := h.ask(held, "granted", decision.WriteReversible)
	h.answer(h.phone, granted, "approve")
	token, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	check(t, err)
	ready, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "ready", Title: "ready", Account: here})
	check(t, err)
	kept, _ := start(other, "kept", here)
	away, _ := start(h.agent, "away", store.AccountID(elsewhere))

	link, err := h.app.UnlinkAgent(t.Context(), h.phone.Principal, h.agent.Agent)
	check(t, err)
	if !link.Revoked {
		t.Error("the link is alive")
	}
	for _, id := range []string{running.ID, ready.Task.ID} {
		if s := h.task(id); s.Phase != task.Canceled || s.Lease.ID != "" {
			t.Errorf("task %s is %v under lease %q", s.Title, s.Phase, s.Lease.ID)
		}
	}
	if d := h.decision(asked.ID); d.Status != decision.Canceled {
		t.Errorf("the open question is %v", d.Status)
	}
	if d := h.decision(granted.ID); d.Status != decision.Resolved || d.Grants[0].State != decision.Void {
		t.Errorf("the answered one is %v with grant %v", d.Status, d.Grants[0].State)
	}
	_, err = h.app.AuthenticateAgent(t.Context(), token.Token)
	refused(t, "its task token", err, app.ErrRevoked)
	_, err = h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
	refused(t, "its worker", err, app.ErrRevoked)
	_, err = h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "new", Title: "new", Account: here})
	refused(t, "a new task", err, app.ErrRevoked)
	if s := h.task(kept.ID); s.Phase != task.Running {
		t.Errorf("another agent's task is %v", s.Phase)
	}
	h.view(elsewhere, func(tx *store.Read) error {
		s, err := tx.Task(away.ID)
		if s.Phase != task.Running {
			t.Errorf("its task in another account is %v", s.Phase)
		}
		return err
	})
	h.checkNotice(running.Thread, "Stopped: Builder may not work here any more.")
	audited := h.standing(h.account)
	_, err = h.app.UnlinkAgent(t.Context(), h.phone.Principal, h.agent.Agent)
	refused(t, "again", err, nil)
	if got := h.standing(h.account); got != audited {
		t.Error("a second unlink did something")
	}
}

// checkNotice looks for a line of the server in a thread.
func (h *harness) checkNotice(id, text string) {
	h.t.Helper()
	h.view(h.account, func(tx *store.Read) error {
		items, _, err := tx.Items(id, 0, 100, 1<<20)
		for _, it := range items {
			if it.Role == thread.RoleServer && it.Kind == thread.Notice && len(it.Parts) > 0 && it.Parts[0].Text == text {
				return nil
			}
		}
		h.t.Errorf("the thread does not say %q", text)
		return err
	})
}

func TestListAgents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	gone, _ := h.newAgent(h.account, "Gone")
	foreign, _ := h.newAgent(h.newAccount(), "Foreign")
	h.elevate(h.phone)
	_, err := h.app.LinkAgent(t.Context(), h.phone.Principal, app.LinkAgent{Agent: foreign.Agent})
	check(t, err)
	_, err = h.app.UnlinkAgent(t.Context(), h.phone.Principal, gone.Agent)
	check(t, err)
	check(t, h.app.RevokeKey(t.Context(), h.phone.Principal, gone.Key))
	got, err := h.app.ListAgents(t.Context(), h.phone.Principal)
	check(t, err)
	names := map[string]bool{}
	for _, l := range got.Links {
		names[l.Name] = true
	}
	if diff := cmp.Diff(map[string]bool{"Builder": true, "Foreign": true}, names); diff != "" {
		t.Errorf("links:\n%s", diff)
	}
	if len(got.Keys) != 1 || got.Keys[0].ID != h.agent.Key {
		t.Errorf("keys %+v", got.Keys)
	}
}
