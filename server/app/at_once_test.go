package app_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/task"
)

// onBolt is a claimed server whose store is a file.
func onBolt(t *testing.T) *harness {
	t.Helper()
	h := newEmptyHarness(t)
	engine, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	check(t, err)
	h.store, err = store.Open(t.Context(), engine, store.Config{Clock: h.clock.Now})
	check(t, err)
	t.Cleanup(func() { _ = h.store.Close() })
	h.config.Store = h.store
	h.restart()
	h.account = h.newAccount()
	h.phone = h.newDevice(h.account, store.PlatformIOS)
	h.agent, h.agentToken = h.newAgent(h.account, "Builder")
	return h
}

// counts is how often something that may happen once was said to have.
type counts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counts) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

// However many call at once, in whatever order: GO is said once for a
// generation, a question is resolved once, and a task whose question is closed
// does not sleep on.
func TestAtOnce_OneGoOneAnswerNobodySleeps(t *testing.T) {
	t.Parallel()
	for name, stand := range map[string]func(*testing.T) *harness{
		"memory": func(t *testing.T) *harness { t.Helper(); return newHarness(t) },
		"bolt":   onBolt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			h, rng := stand(t), rand.New(rand.NewPCG(seed, 0))
			for round := range 12 {
				h.allAtOnce(rng, fmt.Sprint("round ", round))
			}
		})
	}
}

// allAtOnce is one task, its person on two devices and several workers that
// believe to hold it, in an order drawn by chance.
func (h *harness) allAtOnce(rng *rand.Rand, title string) {
	h.t.Helper()
	s, held := h.startTask(title)
	_, grant := h.approved(held, "send", decision.WriteReversible)
	d := h.request(held, func(c *app.RequestDecision) { c.Name = "more" })
	tablet := h.newDevice(h.account, store.PlatformIOS)
	answers := []app.AnswerDecision{h.signed(h.phone, d, "approve"), h.signed(tablet, d, "deny"), h.signed(h.phone, d, "deny"), h.signed(tablet, d, "approve")}
	ctx := context.Background()
	seen := counts{n: map[string]int{}}
	var calls []func()
	for i, a := range answers {
		by := []device{h.phone, tablet}[i%2]
		calls = append(calls, func() {
			r, err := h.app.AnswerDecision(ctx, by.Principal, a)
			if err != nil {
				h.t.Error(err)
			} else if r.Outcome == decision.Applied {
				seen.add("resolved")
			}
		})
	}
	for range 6 {
		calls = append(calls, func() {
			r, err := h.begin(held, "send", grant)
			switch {
			case err == nil && r.Go:
				seen.add(fmt.Sprint("GO ", r.Effect.Generation))
				if r.Effect.Generation < 3 {
					// A definite failure opens the next one, for whoever asks first.
					_, err = h.app.ConfirmEffect(ctx, h.agent, app.ConfirmEffect{Effect: r.Effect.ID, Generation: r.Effect.Generation, Lease: held.Lease})
				}
				if err != nil {
					h.t.Error(err)
				}
			case err != nil && !errors.Is(err, task.ErrLeaseLost) && !errors.Is(err, app.ErrHeld) && !errors.Is(err, decision.ErrGrantVoid):
				h.t.Error(err)
			}
		})
	}
	calls = append(calls,
		func() {
			_, err := h.app.YieldTask(ctx, h.agent, app.YieldTask{Held: held, Wait: task.Wait{Mode: task.All, Decisions: []string{d.ID}}, Ack: []uint64{1}})
			if err != nil {
				h.t.Error(err)
			}
		},
		func() { _, _ = h.app.RevokeGrant(ctx, h.phone.Principal, grant) },
		func() {
			_, _ = h.app.SendMessage(ctx, h.phone.Principal, app.SendMessage{Key: title, Thread: s.Thread, Text: "?"})
		},
	)
	rng.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
	var wg sync.WaitGroup
	for _, call := range calls {
		wg.Go(call)
	}
	wg.Wait()
	if seen.n["resolved"] != 1 {
		h.t.Errorf("%s: the question was resolved %d times", title, seen.n["resolved"])
	}
	for generation := 1; generation <= 3; generation++ {
		if n := seen.n[fmt.Sprint("GO ", generation)]; n > 1 {
			h.t.Errorf("%s: GO was said %d times for generation %d", title, n, generation)
		}
	}
	if got := h.task(s.ID); got.Phase != task.Ready {
		h.t.Errorf("%s: its question is answered, and the task is %s for %+v", title, got.Phase, got.Wait)
	}
	h.stop(title, s.ID)
	all, err := h.app.ListEffects(ctx, h.phone.Principal, app.ListEffects{Task: s.ID, Limit: 50})
	check(h.t, err)
	for _, e := range all {
		if e.Status == effect.Uncertain {
			h.resolve(h.decision(e.Card), "happened")
		}
	}
}
