package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/effect"
)

// send is the worker's side of an effect: ask, wait, do it once, say so. It may
// be killed on the way.
func send(ctx context.Context, w *beckon.Work, j job) error {
	alive := w.KeepAlive(ctx)
	defer alive.Close()
	go func() {
		for range alive.News() {
		}
	}()
	d, err := w.Ask(ctx, writeReport("write"))
	if err != nil {
		return err
	}
	fmt.Println("asked")
	if d, err = w.Wait(ctx, d.GetId()); err != nil {
		return err
	}
	if j.DieAt == "before" {
		die()
	}
	e, err := w.Effect(ctx, "write", d, func(_ context.Context, g beckon.Go) (string, error) {
		if string(g.Args) != `{"path":"report.md"}` {
			return "", beckon.Definite(fmt.Errorf("told to run %s", g.Args))
		}
		if err := count(j.Counter); err != nil {
			return "", err
		}
		if j.DieAt == "after" {
			die()
		}
		return "receipt 1", nil
	})
	if known, ok := errors.AsType[*beckon.EffectError](err); ok && known.Err == nil {
		fmt.Println("not run", known.Effect.GetExit())
	} else if err != nil {
		return err
	}
	fmt.Println("effect", e.GetState())
	alive.Close()
	_, err = w.Complete(ctx, nil)
	return err
}

// die is SIGKILL: nothing is said to anybody.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// killed runs a worker that is killed once the person has approved.
func (h *house) killed(at, counter string) {
	h.t.Helper()
	alerts := len(rings(h.phones.Log()))
	w := h.worker(job{Send: true, DieAt: at, Counter: counter, Lease: time.Second})
	w.Expect("asked")
	h.exactly(alerts + 1)
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		h.t.Fatalf("the tap met %+v", tapped)
	}
	if code := w.Wait(); code != -1 {
		h.t.Fatalf("the worker ended with %d: %s", code, w.Output())
	}
}

// sends runs a worker to its end and expects a line of it.
func (h *house) sends(counter, line string) {
	h.t.Helper()
	w := h.worker(job{Send: true, Counter: counter, Lease: 30 * time.Second})
	w.Expect(line)
	if code := w.Wait(); code != 0 {
		h.t.Fatalf("the worker ended with %d: %s", code, w.Output())
	}
}

// ran checks how often the outside was reached.
func (h *house) ran(counter string, want int) {
	h.t.Helper()
	if n, err := counted(counter); err != nil || n != want {
		h.t.Errorf("the outside was reached %d times, want %d: %v", n, want, err)
	}
}

// effectOf is the one effect of a task.
func (h *house) effectOf(id string) *v1.Effect {
	h.t.Helper()
	res, err := h.owner.Effects.ListEffects(h.ctx(), &v1.ListEffectsRequest{TaskId: id})
	h.check(err)
	if len(res.GetEffects()) != 1 {
		h.t.Fatalf("%d effects", len(res.GetEffects()))
	}
	return res.GetEffects()[0]
}

// Killed after the approval and before GO: nothing began, so another worker
// simply does it, once, by the same approval.
func TestEffect_KilledBeforeDispatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	made := h.ready(5)
	counter := filepath.Join(t.TempDir(), "counter")
	h.killed("before", counter)
	h.ran(counter, 0)
	h.sends(counter, "effect EFFECT_STATE_CONFIRMED")
	h.ran(counter, 1)
	if e := h.effectOf(made.GetId()); e.GetGeneration() != 1 || e.GetReceipt() != "receipt 1" {
		t.Errorf("%+v", e)
	}
}

// Killed after the outside has it and before anybody was told. The
// effect is uncertain, the phone rings, nothing reaches the outside again by
// itself, and each of the four exits works.
func TestEffect_KilledAfterDispatch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, row := range []struct {
		exit string
		line string // of the next worker; empty where there is none
		ran  int
	}{
		{"happened", "effect EFFECT_STATE_RESOLVED_BY_HUMAN", 1},
		{"do_it", "effect EFFECT_STATE_CONFIRMED", 2},
		{"skip", "not run EFFECT_EXIT_SKIP", 1},
		{"stop", "", 1},
	} {
		made, err := h.agent.Tasks.CreateTask(h.ctx(), &v1.CreateTaskRequest{IdempotencyKey: row.exit, Title: row.exit})
		h.check(err)
		id := made.GetTask().GetId()
		counter := filepath.Join(t.TempDir(), row.exit)
		h.killed("after", counter)
		alerts := len(rings(h.phones.Log()))
		h.exactly(alerts + 1)
		e := h.effectOf(id)
		if e.GetState() != v1.EffectState_EFFECT_STATE_UNCERTAIN {
			t.Fatalf("%s: %s", row.exit, e.GetState())
		}
		h.ran(counter, 1)
		card, err := h.owner.Decisions.GetDecision(h.ctx(), &v1.GetDecisionRequest{DecisionId: e.GetResolveDecisionId()})
		h.check(err)
		items, err := beckon.Choose(card.GetDecision(), row.exit, "")
		h.check(err)
		res, err := h.owner.Answer(h.ctx(), card.GetDecision(), beckon.Answer{
			Items: items, Surface: v1.Surface_SURFACE_TERMINAL, Interactive: true,
		})
		h.check(err)
		if res.GetOutcome() != v1.AnswerOutcome_ANSWER_OUTCOME_APPLIED {
			t.Fatalf("%s met %s", row.exit, res.GetOutcome())
		}
		if row.line != "" {
			h.sends(counter, row.line)
		}
		h.ran(counter, row.ran)
		got, err := h.owner.Tasks.GetTask(h.ctx(), &v1.GetTaskRequest{TaskId: id})
		h.check(err)
		want := v1.TaskPhase_TASK_PHASE_COMPLETED
		if row.line == "" {
			want = v1.TaskPhase_TASK_PHASE_CANCELED
		}
		if got.GetTask().GetPhase() != want {
			t.Errorf("%s: the task is %s", row.exit, got.GetTask().GetPhase())
		}
	}
}

// The server dies right after it committed GO, or the confirmation. The worker
// asks again when it is back: nothing runs twice.
func TestKilled_InAnEffect(t *testing.T) {
	t.Parallel()
	for point, row := range map[string]struct {
		onDisk     effect.Status
		ran        int // when the server died
		generation uint32
	}{
		"effect.begun":     {effect.Begun, 0, 2},
		"effect.confirmed": {effect.Confirmed, 1, 1},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			w := h.started("Write")
			d, err := w.Ask(h.ctx(), writeReport("write"))
			h.check(err)
			h.exactly(1)
			if tapped := h.phones.Tap("approve"); !tapped.Counted {
				t.Fatalf("the tap met %+v", tapped)
			}
			d, err = w.Wait(h.ctx(), d.GetId())
			h.check(err)
			h.dieAt(point)
			counter := filepath.Join(t.TempDir(), "counter")
			done := later(func() (*v1.Effect, error) {
				return w.Effect(h.ctx(), "write", d, func(context.Context, beckon.Go) (string, error) { return "receipt", count(counter) })
			})
			h.dead(func(r *store.Read) {
				all := must(r.EffectsOf(w.ID(), "", 10))
				if len(all) != 1 || all[0].Status != row.onDisk {
					t.Fatalf("on disk: %+v", all)
				}
			})
			h.ran(counter, row.ran)
			h.server.Restart()
			got := <-done
			h.check(got.err)
			if got.value.GetState() != v1.EffectState_EFFECT_STATE_CONFIRMED || got.value.GetGeneration() != row.generation {
				t.Errorf("%+v", got.value)
			}
			h.ran(counter, 1)
		})
	}
}
