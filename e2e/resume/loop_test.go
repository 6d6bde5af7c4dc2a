package resume_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/resume"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Two workers on one queue do each task once, and neither does more at a time
// than it was told.
func TestTwoWorkers_OneQueue(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		const tasks, most = 20, 3
		ids := make([]string, tasks)
		for i := range ids {
			ids[i] = h.task()
		}
		var runs [2]atomic.Int32
		var peak [2]atomic.Int32
		for i := range runs {
			var now atomic.Int32
			h.start(beckon.Worker{Concurrency: most}, nil, func(ctx context.Context, task *beckon.Task) error {
				runs[i].Add(1)
				n := now.Add(1)
				defer now.Add(-1)
				peak[i].Store(max(peak[i].Load(), n))
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
				_, err := task.Effect(ctx, publicRead("read"), h.send)
				return err
			})
		}
		for _, id := range ids {
			h.phase(id, v1.TaskPhase_TASK_PHASE_COMPLETED)
		}
		if a, b := runs[0].Load(), runs[1].Load(); a+b != tasks || a == 0 || b == 0 || h.outside.Load() != tasks {
			t.Errorf("%d and %d runs, the outside was reached %d times", a, b, h.outside.Load())
		}
		for i := range peak {
			if n := peak[i].Load(); n != most {
				t.Errorf("worker %d ran %d at once", i, n)
			}
		}
	})
}

func publicRead(key string) *v1.RequestDecisionRequest {
	return beckon.AskAction(key, "Read?", &v1.Action{
		App: "web", Operation: "read", ArgsJson: []byte(`{}`), EffectClass: v1.EffectClass_EFFECT_CLASS_READ_PUBLIC,
	}, false)
}

// R4: a shutdown gives everything back at once and counts as no lost lease, what
// runs and what was being claimed.
func TestShutdown_GivesBack(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		began := make(chan struct{}, 1)
		w := h.start(beckon.Worker{Concurrency: 2}, nil, func(ctx context.Context, _ *beckon.Task) error {
			began <- struct{}{}
			<-ctx.Done()
			return errors.New("not said to anybody: " + causeName(context.Cause(ctx)))
		})
		<-began
		at := time.Now()
		w.end(t)
		if took := time.Since(at); took > time.Second {
			t.Errorf("took %v", took)
		}
		if got := h.get(id).GetTask(); got.GetPhase() != v1.TaskPhase_TASK_PHASE_READY || got.GetAttempts() != 0 || got.GetCheckpointVersion() != 0 {
			t.Error("given back as", got)
		}
	})
}

// A claim that was carried out while the worker was told to end, its answer on
// the way, is given back as well.
func TestShutdown_WhileClaiming(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var w *worker
		claims := 0
		ready := make(chan struct{})
		w = h.start(beckon.Worker{}, func(_ int, procedure string) resume.Fault {
			<-ready
			if procedure == "ClaimTask" {
				if claims++; claims == 1 {
					return resume.Lose
				}
				w.stop()
			}
			return resume.None
		}, func(context.Context, *beckon.Task) error {
			t.Error("a handler ran after the shutdown")
			return nil
		})
		close(ready)
		<-w.done
		if got := h.get(id).GetTask(); got.GetPhase() != v1.TaskPhase_TASK_PHASE_READY || got.GetAttempts() != 0 {
			t.Error("given back as", got)
		}
	})
}

// With a server that is away, a shutdown ends within the grace and what a call
// takes.
func TestShutdown_Bounded(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		h.task()
		began := make(chan struct{})
		w := h.start(beckon.Worker{Grace: 3 * time.Second}, nil, func(ctx context.Context, task *beckon.Task) error {
			_, err := task.Effect(ctx, publicRead("read"), func(ctx context.Context, _ beckon.Go) (string, error) {
				close(began)
				<-ctx.Done()
				return "", context.Cause(ctx)
			})
			return err
		})
		<-began
		at := time.Now()
		w.kill()
		if took := time.Since(at); took > 7*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A server that is away for longer than all the repeats of a call costs nothing.
func TestServerAway_IsWaitedFor(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var lost atomic.Int32
		h.start(beckon.Worker{}, func(_ int, procedure string) resume.Fault {
			switch procedure {
			case "ConfirmEffect", "SaveCheckpoint", "RequestDecision", "YieldTask", "CompleteTask":
				if lost.Add(1)%12 != 0 {
					return resume.Lose
				}
			}
			return resume.None
		}, h.script)
		h.whole(id, "all answers but one in twelve are lost")
	})
}

// A handler that fails is run again, later each time, by whoever is there, and
// then the task fails, in words that do not repeat the error.
func TestHandlerError_IsTriedAgain(t *testing.T) {
	t.Parallel()
	in(t, func(h *house) {
		id := h.task()
		var mu sync.Mutex
		var at []time.Time
		handle := func(context.Context, *beckon.Task) error {
			mu.Lock()
			at = append(at, time.Now())
			n := len(at)
			mu.Unlock()
			if n == 2 {
				panic("secret")
			}
			return errors.New("secret")
		}
		w := h.start(beckon.Worker{Retries: 3}, nil, handle)
		h.wait("the second try", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(at) == 2
		})
		w.end(t)
		h.start(beckon.Worker{Retries: 3}, nil, handle)
		got := h.phase(id, v1.TaskPhase_TASK_PHASE_FAILED)
		f := got.GetFailure()
		mu.Lock()
		defer mu.Unlock()
		if len(at) != 4 || f.GetCode() != "handler_error" || !f.GetRetriable() || f.GetText() == "" || f.GetText() == "secret" {
			t.Fatalf("%d runs, failed as %s", len(at), f)
		}
		for i, want := range []time.Duration{time.Second, 4 * time.Second, 16 * time.Second} {
			if gap := at[i+1].Sub(at[i]); gap < want || gap > want+2*time.Second {
				t.Errorf("try %d came after %v", i+2, gap)
			}
		}
	})
}

// What a handler returns on purpose is what the person reads.
func TestEndings(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		handle handler
		choose string
		phase  v1.TaskPhase
		code   string
	}{
		"fail": {
			handle: func(context.Context, *beckon.Task) error {
				return errors.Join(beckon.Fail("no_money", "The card was refused."), errors.New("secret"))
			},
			phase: v1.TaskPhase_TASK_PHASE_FAILED, code: "no_money",
		},
		"denied": {handle: effect(nil), choose: "deny", phase: v1.TaskPhase_TASK_PHASE_COMPLETED},
		"nobody answers": {handle: func(ctx context.Context, task *beckon.Task) error {
			q := question("report")
			q.Timeout = shortly
			_, err := task.Effect(ctx, q, never)
			return err
		}, phase: v1.TaskPhase_TASK_PHASE_FAILED, code: "no_answer"},
		"refused by the provider": {
			handle: effect(beckon.Definite(errors.New("402"))), choose: "approve",
			phase: v1.TaskPhase_TASK_PHASE_FAILED, code: "effect_failed",
		},
		"one key for two questions": {handle: func(ctx context.Context, task *beckon.Task) error {
			if _, err := task.Ask(ctx, question("report")); err != nil {
				return err
			}
			other := question("another")
			other.Key = "report"
			_, err := task.Ask(ctx, other)
			if e, ok := errors.AsType[*beckon.KeyError](err); !ok || e.Key != "report" {
				return nil
			}
			return err
		}, choose: "approve", phase: v1.TaskPhase_TASK_PHASE_FAILED, code: "handler_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, func(h *house) {
				id := h.task()
				h.start(beckon.Worker{}, nil, row.handle)
				got := h.answersWith(id, func(*v1.Decision) string { return row.choose })
				if got.GetPhase() != row.phase || got.GetFailure().GetCode() != row.code || got.GetResult() != nil {
					t.Error(got)
				}
			})
		})
	}
}

// effect is a handler whose one effect ends with err.
func effect(err error) handler {
	return func(ctx context.Context, task *beckon.Task) error {
		_, ended := task.Effect(ctx, question("report"), func(context.Context, beckon.Go) (string, error) { return "", err })
		return ended
	}
}

func never(context.Context, beckon.Go) (string, error) { return "", errors.New("it was run") }

// A timeout leaves the effect to the person; skipped, nothing more is done.
func TestUncertain_ThePersonSettles(t *testing.T) {
	t.Parallel()
	for exit, outside := range map[string]int32{"happened": 1, "skip": 1, "do_it": 2} {
		t.Run(exit, func(t *testing.T) {
			t.Parallel()
			in(t, func(h *house) {
				id := h.task()
				after := 0
				h.start(beckon.Worker{}, nil, func(ctx context.Context, task *beckon.Task) error {
					_, err := task.Effect(ctx, question("report"), func(context.Context, beckon.Go) (string, error) {
						if h.outside.Add(1) == 1 {
							return "", errors.New("timeout")
						}
						return "receipt", nil
					})
					if err == nil {
						after++
					}
					return err
				})
				got := h.answersWith(id, func(d *v1.Decision) string {
					if d.GetKind() == v1.DecisionKind_DECISION_KIND_RESOLVE_UNCERTAIN {
						return exit
					}
					return "approve"
				})
				if got.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || h.outside.Load() != outside || (after == 1) != (exit != "skip") {
					t.Errorf("reached %d times, went on %d times: %s", h.outside.Load(), after, got)
				}
			})
		})
	}
}
