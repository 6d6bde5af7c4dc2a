package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestCreateTask_LeavesTaskThreadAndAudit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	w := h.watch("")
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "Build it", Input: []byte("in"), Labels: map[string]string{"os": "linux"},
	})
	check(t, err)
	w.expect("a new task", effects{Commits: 1, Account: []string{"task", "thread"}, Audit: []string{"task.created by agent"}})
	want := task.State{
		ID: r.Task.ID, Thread: r.Task.Thread, Agent: h.agent.Agent, Title: "Build it", Input: []byte("in"),
		Labels: map[string]string{"os": "linux"}, Phase: task.Ready, Hold: task.Hold{Kind: task.HoldNone},
		MaxAttempts: 5, CreateTime: h.clock.Now(), HeaderTime: h.clock.Now(),
		ReadyTime: h.clock.Now(), LookTime: h.clock.Now().Add(2 * time.Minute), SilenceAfter: 30 * time.Minute,
	}
	if diff := cmp.Diff(want, h.task(r.Task.ID)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if r.Claim != nil {
		t.Error("a task nobody asked to claim was claimed")
	}
}

func TestCreateTask_Claimed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "Run", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "c", Length: time.Minute},
	})
	check(t, err)
	if r.Task.Phase != task.Running || r.Claim == nil || r.Claim.Task.Lease.ID != r.Task.Lease.ID {
		t.Fatalf("created %v, claim %v", r.Task.Phase, r.Claim)
	}
	if want := h.clock.Now().Add(time.Minute); !r.Task.Lease.Until.Equal(want) {
		t.Errorf("the lease ends at %v, want %v", r.Task.Lease.Until, want)
	}
	// The answer got lost: the same key gives the same lease, and so does a
	// claim under the same name.
	again, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "Run", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "c", Length: time.Minute},
	})
	check(t, err)
	if again.Task.ID != r.Task.ID || again.Claim.Task.Lease.ID != r.Task.Lease.ID {
		t.Error("a repeated call made another task or lease")
	}
	if c := h.claim("c"); c.Task.Lease.ID != r.Task.Lease.ID {
		t.Error("a claim under the same name got another lease")
	}
}

func TestCreateTask_KeyIsRemembered(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first := app.CreateTask{Key: "k", Title: "One"}
	a, err := h.app.CreateTask(t.Context(), h.agent, first)
	check(t, err)
	w := h.watch("")
	b, err := h.app.CreateTask(t.Context(), h.agent, first)
	check(t, err)
	if a.Task.ID != b.Task.ID {
		t.Error("the same key and body made two tasks")
	}
	w.expect("a repeat", effects{Commits: 1})
	other := first
	other.Title = "Two"
	if _, err := h.app.CreateTask(t.Context(), h.agent, other); !errors.Is(err, app.ErrKeyReused) {
		t.Errorf("another body under the key: %v", err)
	}
	// A key belongs to its caller.
	friend, _ := h.newAgent(h.account, "Friend")
	c, err := h.app.CreateTask(t.Context(), friend, other)
	check(t, err)
	if c.Task.ID == a.Task.ID {
		t.Error("one agent got another one's task by its key")
	}
	// Keys are kept for 30 days, then free.
	h.clock.Advance(31 * 24 * time.Hour)
	d, err := h.app.CreateTask(t.Context(), h.agent, other)
	check(t, err)
	if d.Task.ID == a.Task.ID {
		t.Error("a key is remembered for ever")
	}
}

func TestCreateTask_GoesOnInAThread(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	one := h.createTask("one")
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "k", Title: "two", Thread: one.Thread})
	check(t, err)
	if r.Task.Thread != one.Thread {
		t.Error("the task got a thread of its own")
	}
	// The person may call any linked agent into it.
	friend, _ := h.newAgent(h.account, "Friend")
	r, err = h.app.CreateTask(t.Context(), h.phone.Principal, app.CreateTask{Key: "k", Title: "three", Thread: one.Thread, Agent: friend.Agent})
	check(t, err)
	if r.Task.Agent != friend.Agent || r.Task.Thread != one.Thread {
		t.Errorf("the person's task went to %s", r.Task.Agent)
	}
}

func TestCreateTask_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(func(l *policy.Limits) { l.OpenTasks = 2 }))
	one := h.createTask("one")
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	both, _ := h.newAgent(h.account, "Both")
	h.update(stranger, func(tx *store.Tx) error {
		return tx.PutLink(store.AgentLink{Agent: both.Agent, Scopes: []store.AgentScope{store.ScopeTaskCreate}})
	})
	foreign := h.foreignTask(stranger, loner)
	noThread := one.Thread[:len(one.Thread)-26] + "00000000000000000000000000"
	for name, c := range map[string]struct {
		by   policy.Principal
		do   app.CreateTask
		want error
	}{
		"agent of another account": {loner, app.CreateTask{Account: store.AccountID(h.account)}, store.ErrNotFound},
		"account that never was":   {h.agent, app.CreateTask{Account: "acc_0000000000000000"}, store.ErrNotFound},
		"malformed account":        {h.agent, app.CreateTask{Account: "acc_x"}, store.ErrNotFound},
		"which of two accounts":    {both, app.CreateTask{}, app.ErrNoAccount},
		"foreign thread":           {h.agent, app.CreateTask{Thread: foreign.Thread}, store.ErrNotFound},
		"thread that never was":    {h.agent, app.CreateTask{Thread: noThread}, store.ErrNotFound},
		"thread of another agent":  {both, app.CreateTask{Account: store.AccountID(h.account), Thread: one.Thread}, store.ErrNotFound},
		"person, foreign thread":   {h.phone.Principal, app.CreateTask{Agent: h.agent.Agent, Thread: foreign.Thread}, store.ErrNotFound},
		"person, foreign agent":    {h.phone.Principal, app.CreateTask{Agent: loner.Agent}, store.ErrNotFound},
		"person, foreign account":  {h.phone.Principal, app.CreateTask{Agent: h.agent.Agent, Account: store.AccountID(stranger)}, store.ErrNotFound},
		"person claims":            {h.phone.Principal, app.CreateTask{Agent: h.agent.Agent, Claim: &app.ClaimOptions{ID: "c"}}, &app.FieldError{Field: "claim", Reason: "NOT_ALLOWED"}},
		"lease too long":           {h.agent, app.CreateTask{Claim: &app.ClaimOptions{ID: "c", Length: 301 * time.Second}}, &app.FieldError{Field: "claim.lease_duration", Reason: "LIMIT", Max: 300}},
		"lease too short":          {h.agent, app.CreateTask{Claim: &app.ClaimOptions{ID: "c", Length: time.Second - 1}}, &app.FieldError{Field: "claim.lease_duration", Reason: "LIMIT", Max: 300}},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.watch("")
			c.do.Key, c.do.Title = name, name
			_, err := h.app.CreateTask(t.Context(), c.by, c.do)
			sameError(t, err, c.want)
			w.expect("a refusal", effects{})
		})
	}
	h.createTask("two")
	_, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "three", Title: "three"})
	sameError(t, err, &app.QuotaError{What: "open_tasks", Max: 2})
	h.link(func(l *store.AgentLink) { l.Scopes = []store.AgentScope{store.ScopeTaskWork} })
	_, err = h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "four", Title: "four"})
	sameError(t, err, app.ErrScope)
	h.link(func(l *store.AgentLink) { l.Revoked = true })
	_, err = h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "five", Title: "five", Account: store.AccountID(h.account)})
	sameError(t, err, app.ErrRevoked)
}

// sameError compares typed errors by value and the others by identity.
func sameError(t *testing.T, got, want error) {
	t.Helper()
	if want == nil || got == nil {
		if got != want {
			t.Errorf("error %v, want %v", got, want)
		}
		return
	}
	if errors.Is(got, want) {
		return
	}
	if cmp.Equal(want, got, cmp.Comparer(func(a, b error) bool { return a == b || a.Error() == b.Error() })) {
		return
	}
	t.Errorf("error %v (%T), want %v (%T)", got, got, want, want)
}

// foreignTask makes a held task in an account that is not the harness's.
func (h *harness) foreignTask(account string, agent policy.Principal) task.State {
	h.t.Helper()
	r, err := h.app.CreateTask(h.t.Context(), agent, app.CreateTask{
		Key: "foreign", Account: store.AccountID(account), Title: "Foreign", Claim: &app.ClaimOptions{ID: "foreign"},
	})
	check(h.t, err)
	return r.Task
}
