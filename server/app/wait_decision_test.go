package app_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// trigger.dev#2295 and breeze#3090: however a question is closed, whoever waits
// for it hears at once and is told the truth.
func TestWaitDecision_HearsHowItWasClosed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		close func(h *harness, held app.Held, d decision.State)
		want  decision.Status
	}{
		"answered":  {func(h *harness, _ app.Held, d decision.State) { h.answer(h.phone, d, "deny") }, decision.Resolved},
		"withdrawn": {func(h *harness, _ app.Held, d decision.State) { h.withdraw(d.ID) }, decision.Withdrawn},
		"expired": {func(h *harness, _ app.Held, _ decision.State) {
			h.clock.Advance(time.Hour)
			h.due()
		}, decision.Expired},
		"task ended": {func(h *harness, held app.Held, _ decision.State) {
			h.stop("k", held.Task)
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, decision.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				_, held := h.startTask("one")
				d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
				type heard struct {
					decision.State
					err   error
					after time.Duration
				}
				got := make(chan heard, 1)
				began := time.Now()
				go func() {
					d, err := h.app.WaitDecision(context.Background(), h.agent, d.ID, time.Minute)
					got <- heard{d, err, time.Since(began)}
				}()
				synctest.Wait()
				c.close(h, held, d)
				if r := <-got; r.err != nil || r.Status != c.want || r.after != 0 {
					t.Errorf("after %v: %v, %v", r.after, r.Status, r.err)
				}
				// Who comes later reads it at once.
				if again, err := h.app.WaitDecision(t.Context(), h.agent, d.ID, time.Minute); err != nil || again.Status != c.want {
					t.Errorf("later: %v, %v", again.Status, err)
				}
			})
		})
	}
}

func TestWaitDecision_WaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		_, held := h.startTask("one")
		d := h.request(held)
		for _, c := range []struct{ wait, want time.Duration }{{0, 0}, {5 * time.Second, 5 * time.Second}, {time.Hour, time.Minute}} {
			began := time.Now()
			got, err := h.app.WaitDecision(t.Context(), h.agent, d.ID, c.wait)
			if took := time.Since(began); err != nil || got.Status != decision.Pending || took != c.want {
				t.Errorf("wait %v took %v: %v, %v", c.wait, took, got.Status, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.app.WaitDecision(ctx, h.agent, d.ID, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that left: %v", err)
		}
	})
}

func (h *harness) withdraw(id string) decision.State {
	h.t.Helper()
	d, err := h.app.WithdrawDecision(context.Background(), h.agent, id, app.AnsweredElsewhere)
	check(h.t, err)
	return d
}

func TestWithdrawDecision_TakesTheCardBack(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	w := h.watch(s.Thread)
	got := h.withdraw(d.ID) // without a lease: the question outlives it
	w.expect("a withdrawal", effects{
		Commits: 1, Account: []string{"decision", "task", "counters"}, Thread: []string{"decision"},
		Audit: []string{"decision.closed by agent: WITHDRAWN"},
	})
	if got.Status != decision.Withdrawn || got.CloseReason == "" || h.task(s.ID).Phase != task.Ready || len(h.signals(s.ID)) != 1 {
		t.Errorf("%v, the task is %v", got.Status, h.task(s.ID).Phase)
	}
	if again := h.withdraw(d.ID); again.Status != decision.Withdrawn {
		t.Errorf("again: %v", again.Status)
	}
	held = heldBy(h.claim("c"))
	other := h.request(held, func(c *app.RequestDecision) { c.Name = "other" })
	h.answer(h.phone, other, "approve")
	if late := h.withdraw(other.ID); late.Status != decision.Resolved || late.Grants[0].State != decision.Armed {
		t.Errorf("an answered question became %v", late.Status)
	}
}

// R29: a question of somebody else is unknown, whoever asks and however.
func TestDecision_ForeignAndUnknownAlike(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	d := h.request(held)
	_, twoHeld := h.startTask("two")
	two := h.request(twoHeld)
	stranger := h.newAccount()
	loner, _ := h.newAgent(stranger, "Loner")
	friend, _ := h.newAgent(h.account, "Friend")
	theirs := h.newDevice(stranger, store.PlatformIOS)
	child := policy.Principal{Kind: policy.TaskToken, Agent: h.agent.Agent, Task: twoHeld.Task, Lease: twoHeld.Lease}
	never := d.ID[:len(d.ID)-26] + "00000000000000000000000000"
	reads := map[string]func(p policy.Principal, id string) error{
		"GetDecision": func(p policy.Principal, id string) error { _, err := h.app.GetDecision(t.Context(), p, id); return err },
		"WaitDecision": func(p policy.Principal, id string) error {
			_, err := h.app.WaitDecision(t.Context(), p, id, time.Minute)
			return err
		},
		"WithdrawDecision": func(p policy.Principal, id string) error {
			_, err := h.app.WithdrawDecision(t.Context(), p, id, 1)
			return err
		},
	}
	for verb, call := range reads {
		for name, c := range map[string]struct {
			as policy.Principal
			id string
		}{
			"another agent": {friend, d.ID}, "foreign agent": {loner, d.ID}, "child of another task": {child, d.ID},
			"never was": {h.agent, never}, "malformed": {h.agent, "dec"}, "other kind": {h.agent, held.Task},
		} {
			sameNamed(t, verb+" by "+name, call(c.as, c.id), store.ErrNotFound)
		}
	}
	sameError(t, reads["GetDecision"](theirs.Principal, d.ID), store.ErrNotFound)
	for name, p := range map[string]policy.Principal{"person": h.phone.Principal, "agent": h.agent, "child": child} {
		sameNamed(t, "read by "+name, reads["GetDecision"](p, two.ID), nil)
	}
	if got := h.decision(d.ID); got.Status != decision.Pending {
		t.Errorf("the question is %v", got.Status)
	}
	h.link(func(l *store.AgentLink) { l.Scopes = []store.AgentScope{store.ScopeTaskWork} })
	for verb, call := range reads {
		sameNamed(t, verb+" without the scope", call(h.agent, d.ID), app.ErrScope)
	}
}
