package app_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// kill turns the switch by the phone, whose person is present.
func (h *harness) kill(key string, on bool) app.SettingsResult {
	h.t.Helper()
	h.elevate(h.phone)
	r, err := h.app.SetKillSwitch(context.Background(), h.phone.Principal, app.SetKillSwitch{Key: key, On: on})
	check(h.t, err)
	return r
}

// R16: whatever a program calls to change something, or to learn an answer, is
// refused while the switch is on; what ends its work is not.
func TestSetKillSwitch_StopsPrograms(t *testing.T) {
	t.Parallel()
	verbs := map[string]func(a *app.App, p policy.Principal, held app.Held) error{
		"CreateTask": func(a *app.App, p policy.Principal, _ app.Held) error {
			_, err := a.CreateTask(context.Background(), p, app.CreateTask{Key: "new", Title: "New"})
			return err
		},
		"CreateTask, repeated": func(a *app.App, p policy.Principal, _ app.Held) error {
			_, err := a.CreateTask(context.Background(), p, app.CreateTask{Key: "create other", Title: "other"})
			return err
		},
		"MintTaskToken": func(a *app.App, p policy.Principal, held app.Held) error {
			_, err := a.MintTaskToken(context.Background(), p, held)
			return err
		},
	}
	passes := map[string]bool{"Heartbeat": true, "ReleaseTask": true, "CompleteTask": true, "FailTask": true}
	for name, verb := range workVerbs {
		if name != "Heartbeat" {
			verbs[name] = verb
		}
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("mine")
			h.createTask("other")
			h.say(s.Thread, "a signal")
			h.kill("on", true)
			before, kept := h.commits.n.Load(), h.task(s.ID)
			err := verb(h.app, h.agent, held)
			if passes[name] {
				check(t, err)
				return
			}
			sameError(t, err, app.ErrKillSwitch)
			if diff := cmp.Diff(kept, h.task(s.ID)); diff != "" || h.commits.n.Load() != before {
				t.Errorf("something was written:\n%s", diff)
			}
			h.kill("off", false)
			check(t, verb(h.app, h.agent, held))
		})
	}
}

// A question stays what it was: the agent learns nothing of it and takes
// nothing back, the person may refuse and not allow.
func TestSetKillSwitch_Questions(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("mine")
	yes, no := h.ask(held, "yes", decision.WriteReversible), h.ask(held, "no", decision.WriteReversible)
	before := h.ask(held, "before", decision.WriteReversible)
	h.answer(h.phone, before, "approve")
	h.kill("on", true)
	for _, id := range []string{yes.ID, before.ID} {
		_, err := h.app.GetDecision(t.Context(), h.agent, id)
		sameError(t, err, app.ErrKillSwitch)
		_, err = h.app.WaitDecision(t.Context(), h.agent, id, time.Minute)
		sameError(t, err, app.ErrKillSwitch)
		_, err = h.app.WithdrawDecision(t.Context(), h.agent, id, app.Obsolete)
		sameError(t, err, app.ErrKillSwitch)
	}
	_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, h.signed(h.phone, yes, "approve"))
	sameError(t, err, app.ErrKillSwitch)
	if d := h.decision(yes.ID); d.Status != decision.Pending || len(d.Grants) != 0 {
		t.Errorf("an approval under the switch left %v with %d grants", d.Status, len(d.Grants))
	}
	if r := h.answer(h.phone, no, "deny"); r.Outcome != decision.Applied {
		t.Errorf("a refusal met %v", r.Outcome)
	}
	// The winner is told all the same: nothing is allowed by it.
	if r := h.answer(h.phone, before, "approve"); r.Outcome != decision.Same {
		t.Errorf("an answer from before met %v", r.Outcome)
	}
	h.kill("off", false)
	if r := h.answer(h.phone, yes, "approve"); r.Outcome != decision.Applied {
		t.Errorf("an approval after it met %v", r.Outcome)
	}
}

// Workers hear of it at once and nobody else claims; when it is off, work goes
// on where it was.
func TestSetKillSwitch_IsHeardAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("mine")
		d := h.ask(held, "a", decision.WriteReversible)
		h.say(s.Thread, "not told under the switch")
		beat := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: 15 * time.Second, Above: 1})
		waited := make(chan error, 1)
		go func() {
			_, err := h.app.WaitDecision(t.Context(), h.agent, d.ID, time.Minute)
			waited <- err
		}()
		synctest.Wait()
		h.kill("on", true)
		r := <-beat
		check(t, r.err)
		want := task.Hold{
			Kind: task.HoldStop, By: h.phone.Installation, Since: h.clock.Now(), Reason: "Every agent of the account is stopped.",
		}
		if diff := cmp.Diff(want, r.Hold); diff != "" || r.after != 0 || len(r.Signals) != 0 {
			t.Errorf("after %v, with %d signals, the hold (-want +got)\n%s", r.after, len(r.Signals), diff)
		}
		sameError(t, <-waited, app.ErrKillSwitch)
		if got := h.task(s.ID); got.Phase != task.Running || got.Hold.Kind != task.HoldNone {
			t.Errorf("the task itself is %v under %v", got.Phase, got.Hold.Kind)
		}
		phase, err := h.app.ReleaseTask(t.Context(), h.agent, held)
		check(t, err)
		if phase != task.Ready {
			t.Errorf("released: %v", phase)
		}
		if _, found, err := h.app.ClaimTask(t.Context(), h.agent, named("none")); found || err != nil {
			t.Errorf("claimed under the switch: %v, %v", found, err)
		}
		c := named("later")
		c.Wait = time.Minute
		worker := h.worker(t.Context(), c)
		synctest.Wait()
		h.kill("off", false)
		got := <-worker
		if !got.found || got.err != nil || got.after != 0 || got.claim.Task.ID != s.ID || len(got.claim.Signals) != 1 {
			t.Errorf("after %v: %v, %v", got.after, got.found, got.err)
		}
	})
}

// A wrapped command that heard the stop is over: nobody could go on with it.
func TestSetKillSwitch_WrappedCommand(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "make", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "c"},
	})
	check(t, err)
	h.kill("on", true)
	held := app.Held{Task: r.Task.ID, Lease: r.Task.Lease.ID}
	for range 2 { // the answer may get lost
		phase, err := h.app.ReleaseTask(t.Context(), h.agent, held)
		check(t, err)
		if phase != task.Canceled {
			t.Errorf("released: %v", phase)
		}
	}
}

// Nor is one a failure that died of the stop.
func TestSetKillSwitch_WrappedCommandGone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "k", Title: "make", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "c"},
	})
	check(t, err)
	h.kill("on", true)
	w := h.watch(r.Task.Thread)
	h.clock.Advance(time.Minute)
	_, err = h.app.ProcessDue(t.Context())
	check(t, err)
	if got := h.task(r.Task.ID); got.Phase != task.Canceled {
		t.Errorf("the task is %v", got.Phase)
	}
	if e := w.look(); e.Outbox != nil {
		t.Errorf("the person was called: %v", e.Outbox)
	}
}

func TestSetKillSwitch_WhoAndTrace(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, _ := h.startTask("mine")
	probation, _ := h.pair(h.phone, store.PlatformTerminal)
	terminal := h.newDevice(h.account, store.PlatformTerminal)
	turn := func(d device, key string, on bool) (app.SettingsResult, error) {
		return h.app.SetKillSwitch(t.Context(), d.Principal, app.SetKillSwitch{Key: key, On: on})
	}
	w := h.watch(s.Thread)
	on, err := turn(probation, "on", true)
	check(t, err)
	if !on.Settings.KillSwitch.On() || on.Settings.KillSwitch.By != probation.Installation || len(on.AsOf) == 0 {
		t.Errorf("turned on: %+v", on)
	}
	w.expect("on", effects{
		Commits: 1, Account: []string{"settings"}, Audit: []string{"kill_switch.on by " + probation.Installation},
	})
	again, err := turn(terminal, "on too", true)
	check(t, err)
	if diff := cmp.Diff(on.Settings, again.Settings); diff != "" {
		t.Errorf("a second one changed it:\n%s", diff)
	}
	got, err := h.app.GetAccount(t.Context(), probation.Principal)
	check(t, err)
	if diff := cmp.Diff(on.Settings, got.Settings); diff != "" {
		t.Errorf("the account shows (-turned +shown)\n%s", diff)
	}

	// Off takes the person, on a full device.
	h.clock.Advance(10 * time.Minute) // past any elevation
	_, err = turn(probation, "off", false)
	sameError(t, err, app.ErrWrongPrincipal)
	_, err = turn(terminal, "off", false)
	refusedStep(t, "by a terminal", err, decision.StepOtherDevice)
	_, err = turn(h.phone, "off", false)
	refusedStep(t, "by a phone without its person", err, decision.StepVerified)
	for name, p := range map[string]policy.Principal{"agent": h.agent, "operator": operator()} {
		for _, on := range []bool{true, false} {
			if _, err := h.app.SetKillSwitch(t.Context(), p, app.SetKillSwitch{Key: "k", On: on}); !errors.Is(err, app.ErrWrongPrincipal) {
				t.Errorf("by an %s: %v", name, err)
			}
		}
	}
	h.elevate(h.phone)
	w = h.watch(s.Thread)
	off, err := turn(h.phone, "off", false)
	check(t, err)
	w.expect("off", effects{Commits: 1, Account: []string{"settings"}, Audit: []string{"kill_switch.off by phone"}})
	if off.Settings.KillSwitch != (store.KillSwitch{}) {
		t.Errorf("turned off: %+v", off.Settings)
	}
	_, err = turn(h.phone, "off", true)
	sameError(t, err, app.ErrKeyReused)
}

// The switch of one account is nothing to another, where the same agent works.
func TestSetKillSwitch_IsOfOneAccount(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	other := h.newAccount()
	h.update(other, func(tx *store.Tx) error {
		return tx.PutLink(store.AgentLink{
			Agent: h.agent.Agent, Name: "Builder", CreateTime: tx.Now(),
			Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork},
		})
	})
	mine, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "1", Account: store.AccountID(h.account), Title: "mine"})
	check(t, err)
	theirs, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "2", Account: store.AccountID(other), Title: "theirs"})
	check(t, err)
	h.kill("on", true)
	claim, found, err := h.app.ClaimTask(t.Context(), h.agent, named("w"))
	if err != nil || !found || claim.Task.ID != theirs.Task.ID {
		t.Errorf("claimed %v %q, want %q and not %q; %v", found, claim.Task.ID, theirs.Task.ID, mine.Task.ID, err)
	}
}
