package app_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// Stories in which two things go wrong at once: what one rule says about the
// one must still hold beside the other.

// The lease is lost and the person approves with other arguments meanwhile: the
// next worker is told what was written, asks the same question and gets the same
// answer, and what runs is what the person wrote (R3, R4, R12, R14).
func TestStory_EditedApprovalAfterTheLeaseIsLost(t *testing.T) {
	t.Parallel()
	for name, answered := range map[string]string{"before it is lost": "before", "after it is lost": "after"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			d := h.request(held, editable)
			write := func() { h.give(h.phone, h.edits(d, `{"name":"x","size":3}`)) }
			if answered == "before" {
				write()
			}
			h.clock.Advance(lease)
			h.due()
			if answered == "after" {
				if got := h.task(s.ID); got.Phase != task.Waiting || !got.Wait.Names(d.ID) || got.Attempts != 0 {
					t.Fatalf("its worker is gone, and the task is %s for %+v after %d attempts", got.Phase, got.Wait, got.Attempts)
				}
				write()
			}
			c := h.claim("next")
			if len(c.Signals) != 1 || string(c.Signals[0].About.Answer.Items[0].EditedArgs) != `{"name":"x","size":3}` {
				t.Fatalf("told %+v", c.Signals)
			}
			again := h.request(heldBy(c), editable)
			if again.ID != d.ID || len(again.Grants) != 1 || again.Grants[0].State != decision.Armed {
				t.Fatalf("asked again: %s with %+v", again.Status, again.Grants)
			}
			begin := app.BeginEffect{Held: held, Name: "send", Grant: again.Grants[0].ID, Attempt: "1"}
			_, err := h.app.BeginEffect(t.Context(), h.agent, begin)
			sameNamed(t, "GO by the lost lease", err, task.ErrLeaseLost)
			begin.Held, begin.Action = heldBy(c), d.Items[0].Action
			_, err = h.app.BeginEffect(t.Context(), h.agent, begin)
			sameNamed(t, "GO for what was asked", err, decision.ErrGrantDiffers)
			begin.Action = nil
			r, err := h.app.BeginEffect(t.Context(), h.agent, begin)
			check(t, err)
			if !r.Go || string(r.Effect.Action.ArgsJSON) != `{"name":"x","size":3}` || decision.Digest(r.Effect.Digest) != again.Grants[0].Digest {
				t.Errorf("%v: to be run %s", r.Go, r.Effect.Action.ArgsJSON)
			}
		})
	}
}

// A message while nobody knows whether something was done: it is kept, closes no
// card, lifts no hold, and is told once the person has said what happened. A
// task that has ended takes none: the message starts another (R2, R8, R15).
func TestStory_MessageWhileUncertain(t *testing.T) {
	t.Parallel()
	for _, exit := range []string{"happened", "do_it", "skip"} {
		t.Run(exit, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			e, card := h.lost(held, "send")
			if r := h.say(s.Thread, "What is taking so long?"); r.Task.ID != s.ID {
				t.Fatalf("the message went to %q", r.Task.Title)
			}
			if got := h.task(s.ID); got.Hold.Kind != task.HoldReview || h.claimable(t) {
				t.Fatalf("after a message the hold is %s", got.Hold.Kind)
			}
			if got := h.decision(card.ID); got.Status != decision.Pending || h.effect(e.ID).Status != effect.Uncertain {
				t.Fatalf("a message made the card %s", got.Status)
			}
			h.resolve(card, exit)
			c := h.claim("next")
			i := slices.IndexFunc(c.Signals, func(d app.SignalView) bool { return d.Kind == task.Message })
			if i < 0 || c.Signals[i].Text != "What is taking so long?" {
				t.Errorf("told %+v", c.Signals)
			}
			if r, err := h.begin(heldBy(c), "send", e.Grant); err != nil || r.Go != (exit == "do_it") {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		s, held := h.startTask("one")
		e, card := h.lost(held, "send")
		h.stop("k", s.ID)
		r := h.say(s.Thread, "And now?")
		if r.Task.ID == s.ID || r.Task.Phase != task.Ready || h.task(s.ID).Phase != task.Canceled {
			t.Errorf("the message went to %q, %s", r.Task.Title, r.Task.Phase)
		}
		if got := h.decision(card.ID); got.Status != decision.Pending {
			t.Errorf("a message made the card %s", got.Status)
		}
		// The name of an effect is its task's: the new task knows nothing of it,
		// and the old permission is none there.
		if _, err := h.begin(heldBy(h.claim("next")), "send", e.Grant); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("by the permission of another task: %v", err)
		}
	})
}

// The worker is late, the person has said "do it", and it is done again: what
// the late one says of its own generation is kept and settles nothing of the
// second (R15).
func TestStory_SlowWorkerAfterDoIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e, card := h.lost(held, "send")
	h.resolve(card, "do_it")
	c := h.claim("next")
	r, err := h.begin(heldBy(c), "send", e.Grant)
	check(t, err)
	if !r.Go || r.Effect.Generation != 2 {
		t.Fatalf("%+v", r)
	}
	for _, ok := range []bool{true, false} {
		e, err := h.app.ConfirmEffect(t.Context(), h.agent, app.ConfirmEffect{Effect: e.ID, Generation: 1, OK: ok, Receipt: "late", Lease: held.Lease})
		check(t, err)
		if e.Status != effect.Begun || e.Generation != 2 || e.Open() {
			t.Errorf("what was said of the first settled the second: %+v", e)
		}
	}
	got := h.confirm(r.Effect, 2, true, c.Task.Lease.ID)
	if got.Status != effect.Confirmed || len(got.Evidence) != 2 {
		t.Errorf("%s with %+v", got.Status, got.Evidence)
	}
}

// The worker is late and the person has not answered: before "do it" is used,
// its word is the truth and takes the permission back (R15).
func TestStory_SlowWorkerBeforeDoItIsUsed(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e, card := h.lost(held, "send")
	h.resolve(card, "do_it")
	if got := h.confirm(e, 1, true, ""); got.Status != effect.Confirmed || got.Open() {
		t.Fatalf("it was done, and is %s, open: %v", got.Status, got.Open())
	}
	if r, err := h.begin(heldBy(h.claim("next")), "send", e.Grant); err != nil || r.Go {
		t.Errorf("%+v, %v", r, err)
	}
}

// The person sends the agent away while it holds an approval it has not used:
// the approval is void, nothing begins, and nothing is left to undo (R7, R13).
func TestStory_RevokedWithAnArmedGrant(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"not begun": false, "another one begun": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			var e effect.State
			if begun {
				e = h.begun(held, "first")
			}
			d, grant := h.approved(held, "send", decision.WriteReversible)
			open := h.request(held)
			_, err := h.app.UnlinkAgent(t.Context(), h.phone.Principal, h.agent.Agent)
			check(t, err)
			if got := h.grant(grant); got.State != decision.Void {
				t.Errorf("the grant is %d", got.State)
			}
			if got := h.decision(open.ID); got.Status != decision.Canceled || h.decision(d.ID).Status != decision.Resolved {
				t.Errorf("its open question is %s", got.Status)
			}
			if got := h.task(s.ID); got.Phase != task.Canceled || got.Lease.ID != "" {
				t.Errorf("its task is %s", got.Phase)
			}
			commits := h.commits.n.Load()
			if r, err := h.begin(held, "send", grant); err == nil || r.Go || h.commits.n.Load() != commits {
				t.Errorf("the agent that was sent away met %+v", r)
			}
			r, err := h.app.RevokeGrant(t.Context(), h.phone.Principal, grant)
			check(t, err)
			if r.Outcome != app.GrantEnded || r.Grant.State != decision.Void {
				t.Errorf("the undo met %d, %+v", r.Outcome, r.Grant)
			}
			if begun {
				if e = h.effect(e.ID); e.Status != effect.Uncertain || h.decision(e.Card).Status != decision.Pending {
					t.Errorf("what was begun is %s", e.Status)
				}
				h.resolve(h.decision(e.Card), "happened")
			}
			// Working again, it has no old permission.
			h.link(func(l *store.AgentLink) { l.Revoked = false })
			_, err = h.begin(held, "send", grant)
			sameNamed(t, "after it was let in again", err, task.ErrLeaseLost)
		})
	}
}

// The deadline passes in the middle of an effect: the worker hears a stop, its
// word about the effect stands, and what it leaves unsaid is asked about with
// no way to do it again (R7, R15).
func TestStory_DeadlineWithABegunEffect(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		then  func(h *harness, held app.Held, e effect.State)
		phase task.Phase
		want  effect.Status
	}{
		"said in time": {func(h *harness, held app.Held, e effect.State) {
			h.confirm(e, 1, true, held.Lease)
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, task.Expired, effect.Confirmed},
		"done and completed": {func(h *harness, held app.Held, e effect.State) {
			h.confirm(e, 1, true, held.Lease)
			check(h.t, workVerbs["CompleteTask"](h.app, h.agent, held))
		}, task.Completed, effect.Confirmed},
		"failed, and no more time": {func(h *harness, held app.Held, e effect.State) {
			h.confirm(e, 1, false, held.Lease)
			_, err := h.begin(held, "send", e.Grant)
			sameNamed(h.t, "another try", err, app.ErrHeld)
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, task.Expired, effect.Failed},
		"gave it back": {func(h *harness, held app.Held, _ effect.State) {
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, task.Expired, effect.Uncertain},
		"never heard of again": {func(h *harness, _ app.Held, _ effect.State) {
			h.clock.Advance(lease)
			h.due()
		}, task.Expired, effect.Uncertain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.dated("one", 10*time.Second)
			e := h.begun(held, "send")
			h.clock.Advance(10 * time.Second)
			h.due()
			if got := h.task(s.ID); got.Phase != task.Running || got.Hold.Kind != task.HoldStop || h.effect(e.ID).Status != effect.Begun {
				t.Fatalf("at the deadline: %s, hold %s, effect %s", got.Phase, got.Hold.Kind, h.effect(e.ID).Status)
			}
			row.then(h, held, e)
			e = h.effect(e.ID)
			if got := h.task(s.ID); got.Phase != row.phase || e.Status != row.want || e.Open() {
				t.Fatalf("the task is %s, the effect %s, open: %v", got.Phase, e.Status, e.Open())
			}
			if row.want != effect.Uncertain {
				return
			}
			card := h.decision(e.Card)
			if diff := cmp.Diff([]string{"happened", "skip", "stop"}, exits(card)); diff != "" {
				t.Error(diff)
			}
			if e = h.confirm(e, 1, true, held.Lease); e.Status != effect.Confirmed || h.decision(card.ID).Status != decision.Withdrawn {
				t.Errorf("a late word: %s, the card %s", e.Status, h.decision(card.ID).Status)
			}
			if got := h.task(s.ID); got.Phase != row.phase {
				t.Errorf("a late word made the task %s", got.Phase)
			}
		})
	}
}

// The answer to a claim is lost: the worker asks again with the same name and
// has the same lease and signals; nobody else has the task meanwhile, and what
// it begins under that lease is its own (R3).
func TestStory_LostClaimAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	grant := h.give(h.phone, h.signed(h.phone, d, "approve")).Decision.Grants[0].ID
	lost := h.claim("mine")
	h.restart()
	if h.claimable(t) {
		t.Fatal("another worker has it as well")
	}
	h.clock.Advance(lease - time.Second)
	again := h.claim("mine")
	if again.Task.Lease.ID != lost.Task.Lease.ID || !again.Task.Lease.Until.Equal(h.clock.Now().Add(lease)) {
		t.Errorf("lease %+v, lost was %+v", again.Task.Lease, lost.Task.Lease)
	}
	if diff := cmp.Diff(lost.Signals, again.Signals); diff != "" || len(again.Signals) != 1 {
		t.Errorf("told otherwise (-lost +again):\n%s", diff)
	}
	r, err := h.begin(heldBy(again), "send", grant)
	if err != nil || !r.Go {
		t.Fatalf("%+v, %v", r, err)
	}
	// In the middle of it the name still is the same claim, and no lease is new.
	if third := h.claim("mine"); third.Task.Lease.ID != lost.Task.Lease.ID || h.effect(r.Effect.ID).Status != effect.Begun {
		t.Errorf("asked a third time: lease %s, effect %s", third.Task.Lease.ID, h.effect(r.Effect.ID).Status)
	}
	h.confirm(r.Effect, 1, true, again.Task.Lease.ID)
	// Once the lease is gone the name finds a new one, and nothing is done twice.
	h.clock.Advance(lease)
	h.due()
	after := h.claim("mine")
	if after.Task.ID != s.ID || after.Task.Lease.ID == lost.Task.Lease.ID {
		t.Errorf("after its end: lease %s", after.Task.Lease.ID)
	}
	if r, err := h.begin(heldBy(after), "send", grant); err != nil || r.Go || r.Effect.Status != effect.Confirmed {
		t.Errorf("%+v, %v", r, err)
	}
}
