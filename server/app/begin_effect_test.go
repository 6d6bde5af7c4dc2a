package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// approved is a grant of a held task for action(name, class), given by the phone.
func (h *harness) approved(held app.Held, name string, class decision.Class) (decision.State, string) {
	h.t.Helper()
	d := h.request(held, func(c *app.RequestDecision) { c.Name, c.Items = name, []decision.Item{action(name, class)} })
	c := reply(h.t, d, "approve")
	c.Key = "approve " + name
	r := h.giveSigned(d, c)
	return r.Decision, r.Decision.Grants[0].ID
}

// begin asks for GO by a grant.
func (h *harness) begin(held app.Held, name, grant string) (app.BeginResult, error) {
	h.t.Helper()
	return h.app.BeginEffect(context.Background(), h.agent, app.BeginEffect{Held: held, Name: name, Grant: grant, Attempt: "attempt " + name})
}

// begun is an effect of class 2 that got GO.
func (h *harness) begun(held app.Held, name string) effect.State {
	h.t.Helper()
	_, grant := h.approved(held, name, decision.WriteReversible)
	r, err := h.begin(held, name, grant)
	check(h.t, err)
	if !r.Go {
		h.t.Fatalf("%s is %s", name, r.Effect.Status)
	}
	return r.Effect
}

// effect reads an effect as it is stored.
func (h *harness) effect(id string) effect.State {
	h.t.Helper()
	var e effect.State
	h.view(h.account, func(tx *store.Read) error {
		var err error
		e, err = tx.Effect(id)
		return err
	})
	return e
}

// R14, R13: GO, the consumed grant and the audit are one transaction; the
// arguments are those that were approved, byte for byte.
func TestBeginEffect_OneTransaction(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d, grant := h.approved(held, "send", decision.WriteReversible)
	w := h.watch(s.Thread)
	h.clock.Advance(time.Second)
	r, err := h.begin(held, "send", grant)
	check(t, err)
	w.expect("GO", effects{
		Commits: 1, Thread: []string{"decision"},
		Audit: []string{"grant.consumed by agent: " + r.Effect.ID, "effect.begun by agent: generation 1"}, Badge: w.badge(),
	})
	e := r.Effect
	if !r.Go || e.Status != effect.Begun || e.Generation != 1 || e.Grant != grant || e.Decision != d.ID || e.Class != 2 {
		t.Errorf("%v: %+v", r.Go, e)
	}
	if got, want := string(e.Action.ArgsJSON), string(d.Items[0].Action.ArgsJSON); got != want {
		t.Errorf("to be run: %s, approved: %s", got, want)
	}
	if !r.PermitExpireTime.Equal(h.clock.Now().Add(time.Minute)) || r.Permit != fmt.Sprintf("permit %s 1 %x", e.ID, e.Digest[:4]) {
		t.Errorf("permit %q until %v", r.Permit, r.PermitExpireTime)
	}
	g := h.decision(d.ID).Grants[0]
	if g.State != decision.Consumed || g.Effect != e.ID || !g.UseTime.Equal(h.clock.Now()) {
		t.Errorf("grant %+v", g)
	}
	if diff := cmp.Diff(h.effect(e.ID), e); diff != "" {
		t.Errorf("stored and returned differ:\n%s", diff)
	}
}

// ha-mcp PR#2399: one click, N executions. However many ask for GO by one grant,
// by one name or by many, one of them gets it.
func TestBeginEffect_OneClickOneGo(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]func(int) string{
		"one name":   func(int) string { return "send" },
		"many names": func(i int) string { return fmt.Sprint("send ", i) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			_, held := h.startTask("one")
			_, grant := h.approved(held, "send", decision.WriteReversible)
			var wg sync.WaitGroup
			var mu sync.Mutex
			gos, others := 0, map[string]int{}
			for i := range 32 {
				wg.Go(func() {
					r, err := h.begin(held, key(i), grant)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil && r.Go && r.Permit != "":
						gos++
					case err == nil && r.Effect.Status == effect.Begun && r.Permit == "":
						others["known"]++
					case errors.Is(err, decision.ErrGrantUsed):
						others["used"]++
					default:
						t.Errorf("%+v, %v", r, err)
					}
				})
			}
			wg.Wait()
			if gos != 1 || others["known"]+others["used"] != 31 {
				t.Errorf("%d times GO, %v", gos, others)
			}
		})
	}
}

// pydantic-ai#6968, extra#139, pi-mcp-adapter PR#372: arguments that differ from those approved. Any byte of the
// canonical action makes it another one; white space and order do not.
func TestBeginEffect_AnyByteChanged(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	_, grant := h.approved(held, "send", decision.WriteReversible)
	approved := *action("send", decision.WriteReversible).Action
	for name, change := range map[string]func(*decision.Action){
		"a value":      func(a *decision.Action) { a.ArgsJSON = []byte(`{"name":"send","size":13}`) },
		"a letter":     func(a *decision.Action) { a.ArgsJSON = []byte(`{"name":"Send","size":12}`) },
		"one more":     func(a *decision.Action) { a.ArgsJSON = []byte(`{"name":"send","size":12,"cc":"x"}`) },
		"one less":     func(a *decision.Action) { a.ArgsJSON = []byte(`{"name":"send"}`) },
		"its type":     func(a *decision.Action) { a.ArgsJSON = []byte(`{"name":"send","size":"12"}`) },
		"operation":    func(a *decision.Action) { a.Operation = "write2" },
		"connection":   func(a *decision.Action) { a.Connection = "" },
		"app":          func(a *decision.Action) { a.App = "Files" },
		"target":       func(a *decision.Action) { a.TargetJSON = []byte(`"x"`) },
		"null target":  func(a *decision.Action) { a.TargetJSON = []byte(`{}`) },
		"more harmful": func(a *decision.Action) { a.Class = new(decision.Outward) },
	} {
		changed := approved
		change(&changed)
		_, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "send", Grant: grant, Action: &changed})
		want := decision.ErrGrantDiffers
		if name == "more harmful" {
			want = app.ErrNeedsGrant
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if g := h.grant(grant); g.State != decision.Armed {
		t.Fatalf("a refused begin left the grant %d", g.State)
	}
	same := approved
	same.ArgsJSON = []byte(` { "size": 12.0, "name" : "send" }`)
	r, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "send", Grant: grant, Action: &same})
	if err != nil || !r.Go || string(r.Effect.Action.ArgsJSON) != string(approved.ArgsJSON) {
		t.Fatalf("the same action in other words: %+v, %v", r, err)
	}
	// The name stands for what was begun.
	other := approved
	other.Operation, other.Class = "read", new(decision.ReadPublic)
	if _, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "send", Action: &other}); !errors.Is(err, effect.ErrOtherAction) {
		t.Errorf("another action under the same name: %v", err)
	}
}

// grant reads a grant as it is stored.
func (h *harness) grant(id string) decision.Grant {
	h.t.Helper()
	var g decision.Grant
	h.view(h.account, func(tx *store.Read) error {
		d, err := tx.GrantedBy(id)
		g, _ = d.Grant(id)
		return err
	})
	return g
}

// Everything that may have changed since the answer is looked at again, and
// a refusal changes nothing.
func TestBeginEffect_Refused(t *testing.T) {
	t.Parallel()
	type scene struct {
		h    *harness
		s    task.State
		held app.Held
		d    decision.State
		c    app.BeginEffect
	}
	for name, row := range map[string]struct {
		change func(*scene)
		want   error
	}{
		"unknown grant": {func(x *scene) { x.c.Grant = x.c.Grant[:len(x.c.Grant)-1] + "v" }, store.ErrNotFound},
		"grant of another task": {func(x *scene) {
			_, x.c.Held = x.h.startTask("two")
		}, store.ErrNotFound},
		"used": {func(x *scene) {
			_, err := x.h.begin(x.held, "other", x.c.Grant)
			check(x.h.t, err)
		}, decision.ErrGrantUsed},
		"revoked": {func(x *scene) {
			_, err := x.h.app.RevokeGrant(context.Background(), x.h.phone.Principal, x.c.Grant)
			check(x.h.t, err)
		}, decision.ErrGrantVoid},
		"expired, and nobody noted it": {func(x *scene) {
			x.h.clock.Advance(24 * time.Hour)
		}, decision.ErrGrantExpired},
		"another lease": {func(x *scene) { x.c.Lease = "lse_other" }, task.ErrLeaseLost},
		"lost lease": {func(x *scene) {
			x.h.clock.Advance(lease)
			x.h.due()
		}, task.ErrLeaseLost},
		"ended": {func(x *scene) {
			check(x.h.t, workVerbs["CompleteTask"](x.h.app, x.h.agent, x.held))
		}, task.ErrLeaseLost},
		"paused":   {func(x *scene) { x.h.pause(x.s.ID) }, app.ErrHeld},
		"stopping": {func(x *scene) { x.h.stop("k", x.s.ID) }, app.ErrHeld},
		"in review": {func(x *scene) {
			x.h.update(x.h.account, func(tx *store.Tx) error {
				s := x.h.task(x.s.ID)
				s.Hold = task.Hold{Kind: task.HoldReview}
				return tx.PutTask(s, true)
			})
		}, app.ErrHeld},
		"kill switch":    {func(x *scene) { x.h.kill("k", true) }, app.ErrKillSwitch},
		"link revoked":   {func(x *scene) { x.h.link(func(l *store.AgentLink) { l.Revoked = true }) }, app.ErrRevoked},
		"without scope":  {func(x *scene) { x.h.link(func(l *store.AgentLink) { l.Scopes = l.Scopes[:4] }) }, app.ErrScope},
		"above ceiling":  {func(x *scene) { x.h.link(func(l *store.AgentLink) { l.Ceiling = decision.ReadPrivate }) }, app.ErrCeiling},
		"denied since":   {func(x *scene) { x.h.deniedSince(x.s.ID, x.d) }, app.ErrDeniedBefore},
		"another agent":  {func(x *scene) { x.h.agent, _ = x.h.newAgent(x.h.account, "Other") }, store.ErrNotFound},
		"nothing named":  {func(x *scene) { x.c.Grant = "" }, &app.FieldError{Field: "grant_id", Reason: "MISSING"}},
		"class 1 alone":  {func(x *scene) { alone(&x.c, new(decision.ReadPrivate)) }, app.ErrNeedsGrant},
		"class 2 alone":  {func(x *scene) { alone(&x.c, new(decision.WriteReversible)) }, app.ErrNeedsGrant},
		"no class alone": {func(x *scene) { alone(&x.c, nil) }, app.ErrNeedsGrant},
		"no object": {func(x *scene) {
			alone(&x.c, new(decision.ReadPublic))
			x.c.Action.ArgsJSON = []byte(`[1]`)
		}, &app.FieldError{Field: "action.args_json", Reason: "NOT_OBJECT"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := scene{h: newHarness(t)}
			x.s, x.held = x.h.startTask("one")
			var grant string
			x.d, grant = x.h.approved(x.held, "send", decision.WriteReversible)
			x.c = app.BeginEffect{Held: x.held, Name: "send", Grant: grant}
			row.change(&x)
			commits := x.h.commits.n.Load()
			r, err := x.h.app.BeginEffect(t.Context(), x.h.agent, x.c)
			if field, ok := errors.AsType[*app.FieldError](err); ok {
				if diff := cmp.Diff(row.want, error(field)); diff != "" {
					t.Error(diff)
				}
			} else if !errors.Is(err, row.want) {
				t.Errorf("%+v, %v, want %v", r, err, row.want)
			}
			if x.h.commits.n.Load() != commits || r.Permit != "" {
				t.Errorf("a refusal committed, permit %q", r.Permit)
			}
		})
	}
}

// deniedSince: the person said no to the same action on another card.
func (h *harness) deniedSince(id string, d decision.State) {
	h.update(h.account, func(tx *store.Tx) error { return tx.PutDenied(id, d.Items[0].Action.Digest) })
}

// alone names the action and no grant.
func alone(c *app.BeginEffect, class *decision.Class) {
	act := *action("send", decision.ReadPublic).Action
	act.Class = class
	c.Grant, c.Action = "", &act
}

// R16: what only reads in public needs nobody's word, and is in the ledger all
// the same.
func TestBeginEffect_Class0NeedsNoGrant(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	c := app.BeginEffect{Held: held, Name: "look"}
	alone(&c, new(decision.ReadPublic))
	for i, want := range []bool{true, false} {
		r, err := h.app.BeginEffect(t.Context(), h.agent, c)
		if err != nil || r.Go != want || r.Effect.Status != effect.Begun || r.Effect.Generation != 1 {
			t.Errorf("try %d: %+v, %v", i, r, err)
		}
	}
}

// A worker whose answer got lost learns from the name of its own call that GO
// was said to it and that nothing was run: it may say so, and try again.
func TestBeginEffect_LostAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e := h.begun(held, "send")
	r, err := h.begin(held, "send", e.Grant)
	check(t, err)
	if r.Go || r.Permit != "" || r.Effect.Attempt != "attempt send" {
		t.Fatalf("the second time: %+v", r)
	}
	_, err = h.app.ConfirmEffect(t.Context(), h.agent, app.ConfirmEffect{Effect: e.ID, Generation: 1, Lease: held.Lease})
	check(t, err)
	if r, err = h.begin(held, "send", e.Grant); err != nil || !r.Go || r.Effect.Generation != 2 {
		t.Errorf("after saying that nothing was run: %+v, %v", r, err)
	}
}

// A task has at most so many effects that nobody has said the end of.
func TestBeginEffect_Quota(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	c := app.BeginEffect{Held: held}
	alone(&c, new(decision.ReadPublic))
	var err error
	for i := range 101 {
		if c.Name = fmt.Sprint(i); err != nil {
			t.Fatal(i, err)
		}
		_, err = h.app.BeginEffect(t.Context(), h.agent, c)
	}
	var quota *app.QuotaError
	if !errors.As(err, &quota) || quota.Max != 100 {
		t.Errorf("effect 101: %v", err)
	}
}
