package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

const lease = 30 * time.Second

// paperclip PR#9331: a task whose workers die ends visibly; what moves it on
// starts the count anew, so that three deploys in a month do not add up.
func TestProcessDue_LostLeasesInARow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		progress func(h *harness, held app.Held) // after the second loss
		want     task.Phase
	}{
		"none":      {func(*harness, app.Held) {}, task.Failed},
		"heartbeat": {func(h *harness, held app.Held) { check(h.t, workVerbs["UpdateProgress"](h.app, h.agent, held)) }, task.Failed},
		"checkpoint": {func(h *harness, held app.Held) {
			check(h.t, workVerbs["SaveCheckpoint"](h.app, h.agent, held))
		}, task.Ready},
		"ack":     {func(h *harness, held app.Held) { check(h.t, workVerbs["AckSignals"](h.app, h.agent, held)) }, task.Ready},
		"release": {func(h *harness, held app.Held) { check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held)) }, task.Ready},
		"yield":   {func(h *harness, held app.Held) { h.sleep(held, task.Wait{Until: h.clock.Now()}) }, task.Ready},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "k", Title: "one", MaxAttempts: 3})
			check(t, err)
			w := h.watch(r.Task.Thread)
			for i := range 3 {
				held := heldBy(h.claim(fmt.Sprint(i)))
				if i == 2 {
					c.progress(h, held)
				}
				h.clock.Advance(lease)
				h.due()
				h.clock.Advance(task.RetryDelay(h.task(r.Task.ID).Attempts))
				h.due()
			}
			s := h.task(r.Task.ID)
			if s.Phase != c.want {
				t.Fatalf("after three lost leases: %v, %d attempts", s.Phase, s.Attempts)
			}
			if c.want != task.Failed {
				return
			}
			if s.Failure.Code != task.CouldNotResume {
				t.Errorf("failed as %q", s.Failure.Code)
			}
			if e := w.look(); len(e.Outbox) != 1 || e.Badge.UnreadThreads != 1 {
				t.Errorf("the person was not called: %+v", e)
			}
		})
	}
}

// R4: a lease lost while an own question is open counts nothing and becomes a
// wait for it; a wrapped command cannot be resumed by anybody.
func TestProcessDue_LeaseLostWhileAsking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		max  int
		want task.Phase
	}{"may be resumed": {2, task.Waiting}, "wrapped": {1, task.Failed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
				Key: "k", Title: "one", MaxAttempts: c.max, Claim: &app.ClaimOptions{ID: "c"},
			})
			check(t, err)
			d := h.ask(heldBy(*r.Claim), "a", decision.WriteReversible)
			for range 3 {
				h.clock.Advance(lease)
				h.due()
				s := h.task(r.Task.ID)
				if s.Phase != c.want || c.want == task.Waiting && s.Attempts != 0 {
					t.Fatalf("%v with %d attempts", s.Phase, s.Attempts)
				}
				if c.want == task.Failed {
					if got := h.decision(d.ID).Status; got != decision.Canceled {
						t.Errorf("its question is %v", got)
					}
					return
				}
				if got := h.decision(d.ID).Status; got != decision.Pending {
					t.Fatalf("a lost lease closed the question: %v", got)
				}
			}
			h.answer(h.phone, d, "approve")
			if got := h.claim("next"); got.Task.ID != r.Task.ID || len(got.Signals) != 1 {
				t.Errorf("claimed %q with %d signals", got.Task.Title, len(got.Signals))
			}
		})
	}
}

// R4: after a start every lease lasts its own length again, whatever its length
// and however long the server was away.
func TestProcessDue_DowntimeCostsNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("short")
	long, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{
		Key: "long", Title: "long", MaxAttempts: 1, Claim: &app.ClaimOptions{ID: "long", Length: 5 * time.Minute},
	})
	check(t, err)
	h.clock.Advance(time.Hour)
	h.restart()
	if next := h.due(); !next.Equal(h.clock.Now().Add(lease)) {
		t.Errorf("next due at %v", next)
	}
	h.clock.Advance(lease - time.Microsecond)
	h.due()
	for _, id := range []string{held.Task, long.Task.ID} {
		if s := h.task(id); s.Phase != task.Running || s.Attempts != 0 {
			t.Errorf("%s: %v with %d attempts", s.Title, s.Phase, s.Attempts)
		}
	}
	_, err = h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
	check(t, err)
	h.clock.Advance(5*time.Minute - lease)
	h.due()
	if s := h.task(long.Task.ID); s.Phase != task.Running {
		t.Errorf("the long lease ended %v early: %v", time.Microsecond, s.Phase)
	}
	h.clock.Advance(time.Microsecond)
	h.due()
	if s := h.task(long.Task.ID); s.Phase != task.Failed {
		t.Errorf("the long lease never ends: %v", s.Phase)
	}
}

// hermes-agent#81048, agent-os#1563: silence is no denial, and no person did it.
func TestProcessDue_SilenceIsExpired(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		onExpiry decision.OnExpiry
		asleep   bool
		want     task.Phase
		hold     task.HoldKind
	}{
		"tells the agent":                {decision.TellAgent, true, task.Ready, task.HoldNone},
		"tells the agent while it works": {decision.TellAgent, false, task.Running, task.HoldNone},
		"stops the task":                 {decision.StopTask, true, task.Canceled, task.HoldNone},
		"stops the task while it works":  {decision.StopTask, false, task.Running, task.HoldStop},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s, held := h.startTask("one")
			d := h.request(held, func(r *app.RequestDecision) { r.Timeout, r.OnExpiry = 10*time.Second, c.onExpiry })
			if c.asleep {
				h.sleep(held, task.Wait{Decisions: []string{d.ID}})
			}
			w := h.watch(s.Thread)
			h.clock.Advance(10*time.Second - time.Microsecond)
			h.due()
			w.expect("nothing yet", effects{Badge: store.Counters{OpenDecisions: 1}})
			h.clock.Advance(time.Microsecond)
			h.due()
			e := w.look()
			if e.Badge.OpenDecisions != 0 || len(e.Audit) == 0 || e.Audit[0] != "decision.closed by server: EXPIRED" {
				t.Errorf("left behind %+v", e)
			}
			if got := h.decision(d.ID); got.Status != decision.Expired || got.Answer != nil {
				t.Errorf("the question is %v", got.Status)
			}
			if got := h.task(s.ID); got.Phase != c.want || got.Hold.Kind != c.hold || got.Answered {
				t.Errorf("the task is %v, hold %v, answered %v", got.Phase, got.Hold.Kind, got.Answered)
			}
			if c.want == task.Ready || c.want == task.Running {
				if sig := h.signals(s.ID); len(sig) != 1 || sig[0].Decision != d.ID {
					t.Errorf("signals %+v", sig)
				}
			}
			// Nothing was denied: the agent may ask again.
			if c.want == task.Ready {
				h.request(heldBy(h.claim("next")), func(r *app.RequestDecision) { r.Name = "again" })
			}
		})
	}
}

// An approval nobody used ends, and calls nobody.
func TestProcessDue_GrantsExpire(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	h.answer(h.phone, d, "approve")
	h.sleep(held, task.Wait{Until: h.clock.Now().AddDate(0, 0, 7)}, 1)
	h.clock.Advance(decision.GrantLife - time.Microsecond)
	h.due()
	if got := h.decision(d.ID).Grants[0].State; got != decision.Armed {
		t.Errorf("early: %v", got)
	}
	h.clock.Advance(time.Microsecond)
	h.due()
	if got := h.decision(d.ID); got.Grants[0].State != decision.GrantExpired || got.Status != decision.Resolved {
		t.Errorf("the grant is %v, the question %v", got.Grants[0].State, got.Status)
	}
	if next := h.due(); !next.Equal(h.task(s.ID).Wait.Until) {
		t.Errorf("next due at %v", next)
	}
}

// Nothing is done early, late things are done whatever their number, and a
// second look finds nothing.
func TestProcessDue_Batches(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if next := h.due(); !next.IsZero() {
		t.Errorf("an idle server is due at %v", next)
	}
	const n = 600
	for i := range n {
		h.startTask(fmt.Sprint(i))
	}
	h.clock.Advance(lease)
	rounds := 0
	for next := h.due(); !next.After(h.clock.Now()); next = h.due() {
		if rounds++; rounds > n {
			t.Fatal("it never ends")
		}
	}
	h.view(h.account, func(tx *store.Read) error {
		tasks, err := tx.LiveTasks("")
		for _, s := range tasks {
			if s.Phase != task.Ready {
				t.Fatalf("%s is %v", s.Title, s.Phase)
			}
		}
		if len(tasks) != n {
			t.Errorf("%d tasks", len(tasks))
		}
		return err
	})
	before := h.commits.n.Load()
	h.due()
	if h.commits.n.Load() != before {
		t.Error("a second look wrote something")
	}
}
