package app_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
)

// gate holds the commands of one account until it is told what to do with them.
type gate struct {
	store.Engine

	account string
	n       atomic.Int64
	// pass lets a command go, or fails it.
	pass chan error
}

func (g *gate) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	if account == g.account {
		g.n.Add(1)
		if err := <-g.pass; err != nil {
			return err
		}
	}
	return g.Engine.Update(ctx, account, fn)
}

// behind puts a gate in front of the store, from now on.
func (h *harness) behind() *gate {
	h.t.Helper()
	g := &gate{Engine: h.commits, account: h.account, pass: make(chan error)}
	st, err := store.Open(context.Background(), g, store.Config{Clock: h.clock.Now})
	check(h.t, err)
	cfg := h.config
	cfg.Store = st
	h.app = app.New(cfg)
	return g
}

// Workers that are woken together do not all run after the oldest task: each
// loser would wait for a commit to hear that it has lost.
func TestClaimTask_ACrowdSpreads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const crowd = 40
		h := newHarness(t)
		for i := range crowd {
			h.createTask(fmt.Sprint(i))
		}
		g := h.behind()
		var workers []<-chan claimed
		for i := range crowd {
			c := named(fmt.Sprint(i))
			c.Wait = 0
			workers = append(workers, h.worker(t.Context(), c))
		}
		synctest.Wait()
		close(g.pass)
		got := map[string]bool{}
		for _, w := range workers {
			r := <-w
			if !r.found || r.err != nil {
				t.Errorf("a worker got %v, %v", r.found, r.err)
			}
			got[r.claim.Task.ID] = true
		}
		if n := g.n.Load(); n != crowd || len(got) != crowd {
			t.Errorf("%d workers on as many tasks made %d commands and got %d tasks", crowd, n, len(got))
		}
	})
}

// A task that a worker left alone because another was trying it is not lost
// when that one fails.
func TestClaimTask_AFailedAttemptWakesWhoLeftItAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s := h.createTask("one")
		g := h.behind()
		first := h.worker(t.Context(), named("first"))
		synctest.Wait()
		second := h.worker(t.Context(), named("second"))
		synctest.Wait()
		if n := g.n.Load(); n != 1 {
			t.Fatalf("%d commands for one task", n)
		}
		broken := errors.New("broken")
		g.pass <- broken
		if r := <-first; !errors.Is(r.err, broken) {
			t.Errorf("the first worker got %v, %v", r.found, r.err)
		}
		g.pass <- nil
		if r := <-second; !r.found || r.err != nil || r.claim.Task.ID != s.ID || r.after != 0 {
			t.Errorf("the second worker came back after %v with %v, %v", r.after, r.found, r.err)
		}
	})
}

// Two calls under one claim id are one worker, also while both are on the way.
func TestClaimTask_RepeatedWhileOnTheWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		h.createTask("one")
		h.createTask("two")
		g := h.behind()
		first, again := h.worker(t.Context(), named("w")), h.worker(t.Context(), named("w"))
		synctest.Wait()
		close(g.pass)
		a, b := <-first, <-again
		if a.err != nil || b.err != nil || a.claim.Task.ID != b.claim.Task.ID || a.claim.Task.Lease.ID != b.claim.Task.Lease.ID {
			t.Errorf("one worker got %s and %s (%v, %v)", a.claim.Task.ID, b.claim.Task.ID, a.err, b.err)
		}
	})
}
