package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// claimed is what a waiting worker came back with.
type claimed struct {
	claim app.Claim
	found bool
	err   error
	after time.Duration
}

// worker waits for work in the background.
func (h *harness) worker(ctx context.Context, c app.ClaimTask) <-chan claimed {
	out := make(chan claimed, 1)
	began := time.Now()
	go func() {
		claim, found, err := h.app.ClaimTask(ctx, h.agent, c)
		out <- claimed{claim, found, err, time.Since(began)}
	}()
	return out
}

func named(id string) app.ClaimTask {
	return app.ClaimTask{Claim: app.ClaimOptions{ID: id}, Wait: time.Minute}
}

func TestClaimTask_WaitsForWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asleep bool // whether the task sleeps on a decision when the worker comes
		wake   func(h *harness, s task.State, d decision.State)
	}{
		"a new task": {false, func(h *harness, _ task.State, _ decision.State) { h.createTask("new") }},
		"an answer":  {true, func(h *harness, _ task.State, d decision.State) { h.answer(h.phone, d, "approve") }},
		"a refusal":  {true, func(h *harness, _ task.State, d decision.State) { h.answer(h.phone, d, "deny") }},
		"a message":  {true, func(h *harness, s task.State, _ decision.State) { h.say(s.Thread, "hello") }},
		"a released lease": {false, func(h *harness, _ task.State, _ decision.State) {
			_, held := h.startTask("given back")
			_, err := h.app.ReleaseTask(context.Background(), h.agent, held)
			check(h.t, err)
		}},
		"a lost lease": {false, func(h *harness, _ task.State, _ decision.State) {
			h.startTask("lost")
			h.clock.Advance(31 * time.Second)
			_, err := h.app.ProcessDue(context.Background())
			check(h.t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				var s task.State
				var d decision.State
				if c.asleep {
					var held app.Held
					s, held = h.startTask("asleep")
					d = h.ask(held, "write", decision.WriteReversible)
					h.sleep(held, task.Wait{Decisions: []string{d.ID}})
				}
				got := h.worker(t.Context(), named("w"))
				synctest.Wait()
				c.wake(h, s, d)
				if r := <-got; !r.found || r.err != nil || r.after != 0 {
					t.Errorf("the worker came back after %v with %v, %v", r.after, r.found, r.err)
				}
			})
		})
	}
}

func TestClaimTask_WaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		c := named("w")
		c.Wait = 7 * time.Second
		if r := <-h.worker(t.Context(), c); r.found || r.err != nil || r.after != 7*time.Second {
			t.Errorf("after %v: %v, %v", r.after, r.found, r.err)
		}
		c.Wait = time.Hour
		if r := <-h.worker(t.Context(), c); r.found || r.err != nil || r.after != time.Minute {
			t.Errorf("the longest wait was %v: %v, %v", r.after, r.found, r.err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r := <-h.worker(ctx, c); !errors.Is(r.err, context.DeadlineExceeded) || r.after != time.Second {
			t.Errorf("a caller that left was held for %v: %v", r.after, r.err)
		}
	})
}

// One task for a thousand idle workers is a handful of reads, not thousands.
func TestClaimTask_OneTaskWakesFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		ctx, cancel := context.WithCancel(t.Context())
		var workers []<-chan claimed
		for i := range 1000 {
			workers = append(workers, h.worker(ctx, named(fmt.Sprint(i))))
		}
		synctest.Wait()
		before := h.commits.views.Load() + h.commits.n.Load()
		h.createTask("one")
		synctest.Wait()
		if n := h.commits.views.Load() + h.commits.n.Load() - before; n > 10 {
			t.Errorf("one task cost %d transactions", n)
		}
		cancel()
		got := 0
		for _, w := range workers {
			if r := <-w; r.found {
				got++
			}
		}
		if got != 1 {
			t.Errorf("%d workers got the one task", got)
		}
	})
}

// Labels: a task wakes a worker that may have it, whoever waits longer.
func TestClaimTask_WakesWhoMayHaveIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		ctx, cancel := context.WithCancel(t.Context())
		plain := h.worker(ctx, named("plain"))
		synctest.Wait()
		c := named("linux")
		c.Labels = map[string]string{"os": "linux"}
		linux := h.worker(ctx, c)
		synctest.Wait()
		_, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "k", Title: "t", Labels: c.Labels})
		check(t, err)
		if r := <-linux; !r.found || r.after != 0 {
			t.Errorf("the worker with the label got %v after %v", r.found, r.after)
		}
		cancel()
		if r := <-plain; r.found {
			t.Error("a worker without the label got the task")
		}
	})
}

// A worker that waits for one task only must not swallow the wake for another.
func TestClaimTask_PickyWorkerSwallowsNoWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("wanted")
		ctx, cancel := context.WithCancel(t.Context())
		c := named("picky")
		c.Task = s.ID
		picky := h.worker(ctx, c)
		synctest.Wait()
		anyone := h.worker(ctx, named("any"))
		synctest.Wait()
		h.createTask("other")
		if r := <-anyone; !r.found || r.after != 0 {
			t.Errorf("the worker behind got %v after %v", r.found, r.after)
		}
		_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
		check(t, err)
		if r := <-picky; !r.found || r.after != 0 || r.claim.Task.ID != s.ID {
			t.Errorf("the worker that waits for one task got %v after %v", r.found, r.after)
		}
		cancel()
	})
}

// A worker that was woken and then failed hands the wake on.
func TestClaimTask_FailedWorkerHandsTheWakeOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		first := h.worker(t.Context(), named("first"))
		synctest.Wait()
		second := h.worker(t.Context(), named("second"))
		synctest.Wait()
		h.commits.failViews.Store(1)
		_, err := h.app.CreateTask(t.Context(), h.phone.Principal, app.CreateTask{Key: "k", Title: "one", Agent: h.agent.Agent})
		check(t, err)
		if r := <-first; !errors.Is(r.err, errRead) {
			t.Errorf("the first worker came back with %v, %v", r.found, r.err)
		}
		if r := <-second; !r.found || r.after != 0 {
			t.Errorf("the second worker got %v after %v", r.found, r.after)
		}
	})
}

// A worker whose key is revoked while it waits gets no more work, and hears why.
func TestClaimTask_KeyRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		got := h.worker(t.Context(), named("w"))
		synctest.Wait()
		h.update(h.account, func(tx *store.Tx) error {
			keys, err := tx.Keys(h.agent.Agent)
			if err != nil {
				return err
			}
			keys[0].Revoked = true
			return tx.PutKey(keys[0])
		})
		s := h.createTask("secret")
		if r := <-got; r.found || r.after != 0 {
			t.Errorf("after %v a revoked key got %v", r.after, r.found)
		} else {
			sameError(t, r.err, app.ErrRevoked)
		}
		if got := h.task(s.ID); got.Phase != task.Ready {
			t.Errorf("the task is %v", got.Phase)
		}
	})
}
