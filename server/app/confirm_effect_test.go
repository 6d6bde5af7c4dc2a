package app_test

import (
	"errors"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// confirm says how a generation went; lease may be empty.
func (h *harness) confirm(e effect.State, generation uint32, ok bool, lease string) effect.State {
	h.t.Helper()
	e, err := h.app.ConfirmEffect(h.t.Context(), h.agent, app.ConfirmEffect{
		Effect: e.ID, Generation: generation, OK: ok, Receipt: "receipt", Lease: lease,
	})
	check(h.t, err)
	return e
}

// paperclip PR#12835: a failed approved action asks again. A definite failure
// said by the holder opens the next generation on the same grant, without a new
// card, up to the third.
func TestConfirmEffect_DefiniteFailure(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	e := h.begun(held, "send")
	w := h.watch(s.Thread)
	for generation := uint32(1); generation <= 3; generation++ {
		r, err := h.begin(held, "send", e.Grant)
		check(t, err)
		if r.Go != (generation > 1) || r.Effect.Generation != generation {
			t.Fatalf("generation %d: %+v", generation, r)
		}
		if e = h.confirm(e, generation, false, held.Lease); e.Status != effect.Failed || e.Open() != (generation < 3) {
			t.Fatalf("failure %d: %s, open %v", generation, e.Status, e.Open())
		}
	}
	if r, err := h.begin(held, "send", e.Grant); err != nil || r.Go || r.Effect.Status != effect.Failed {
		t.Errorf("a fourth time: %+v, %v", r, err)
	}
	if got := w.look(); len(got.Thread) > 0 || len(got.Outbox) > 0 {
		t.Errorf("the person was bothered: %+v", got)
	}
}

// What was a good permission when it failed may be none when it is tried again.
func TestConfirmEffect_NextGenerationNeedsTheGrant(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		later time.Duration
		lease bool
		want  bool
	}{
		"in time":                 {time.Second, true, true},
		"the grant has run out":   {24 * time.Hour, true, false},
		"not said by the holder":  {time.Second, false, false},
		"nobody holds the effect": {24 * time.Hour, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			_, held := h.startTask("one")
			e := h.begun(held, "send")
			by := ""
			if row.lease {
				by = held.Lease
			}
			h.confirm(e, 1, false, by)
			h.clock.Advance(row.later)
			if r, err := h.begin(held, "send", e.Grant); err != nil || r.Go != row.want {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

// A repeat is answered alike and writes nothing; what contradicts is kept.
func TestConfirmEffect_Repeats(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	e := h.begun(held, "send")
	h.confirm(e, 1, true, held.Lease)
	w := h.watch(s.Thread)
	if e = h.confirm(e, 1, true, ""); e.Status != effect.Confirmed || e.Receipt != "receipt" {
		t.Errorf("%+v", e)
	}
	w.expect("a repeat", effects{Commits: 1, Badge: w.badge()})
	if e = h.confirm(e, 1, false, held.Lease); e.Status != effect.Confirmed || len(e.Evidence) != 1 || e.Evidence[0].Kind != effect.SaidFailed {
		t.Errorf("a contradiction: %+v", e)
	}
	if got := h.signals(s.ID); len(got) != 1 { // the answer of the person
		t.Errorf("the worker is told what it said itself: %+v", got)
	}
}

// Who may tell how it went, and of what.
func TestConfirmEffect_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	e := h.begun(held, "send")
	stranger, _ := h.newAgent(h.account, "Other")
	tell := app.ConfirmEffect{Effect: e.ID, Generation: 1, OK: true}
	if _, err := h.app.ConfirmEffect(t.Context(), stranger, tell); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another agent: %v", err)
	}
	for name, row := range map[string]struct {
		c    app.ConfirmEffect
		want error
	}{
		"a generation to come":  {app.ConfirmEffect{Effect: e.ID, Generation: 2, OK: true}, effect.ErrGeneration},
		"an effect of nobody's": {app.ConfirmEffect{Effect: e.ID[:len(e.ID)-4] + "vvvv", Generation: 1, OK: true}, store.ErrNotFound},
		"something else's name": {app.ConfirmEffect{Effect: held.Task, Generation: 1, OK: true}, store.ErrNotFound},
	} {
		if _, err := h.app.ConfirmEffect(t.Context(), h.agent, row.c); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	h.link(func(l *store.AgentLink) { l.Scopes = l.Scopes[:4] })
	if _, err := h.app.ConfirmEffect(t.Context(), h.agent, tell); !errors.Is(err, app.ErrScope) {
		t.Errorf("without the scope: %v", err)
	}
	if got := h.effect(e.ID); got.Status != effect.Begun {
		t.Errorf("a refusal settled it: %s", got.Status)
	}
}

// Truth is heard in every state of the task, and while every agent is stopped.
func TestConfirmEffect_NeedsNoLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*harness, task.State, app.Held){
		"held":        func(h *harness, s task.State, _ app.Held) { h.pause(s.ID) },
		"kill switch": func(h *harness, _ task.State, _ app.Held) { h.kill("k", true) },
		"lease lost":  func(h *harness, _ task.State, _ app.Held) { h.clock.Advance(lease); h.due() },
		"ended": func(h *harness, _ task.State, held app.Held) {
			check(h.t, workVerbs["CompleteTask"](h.app, h.agent, held))
		},
	} {
		for _, ok := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				h := newHarness(t)
				s, held := h.startTask("one")
				e := h.begun(held, "send")
				change(h, s, held)
				want := effect.Failed
				if ok {
					want = effect.Confirmed
				}
				if e = h.confirm(e, 1, ok, ""); e.Status != want || e.Open() {
					t.Errorf("%s, open %v", e.Status, e.Open())
				}
				if d := e.Card; d != "" && h.decision(d).Status != decision.Withdrawn {
					t.Errorf("the card is %s", h.decision(d).Status)
				}
			})
		}
	}
}
