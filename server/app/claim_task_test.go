package app_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

func TestClaimTask_GivesLeaseCheckpointAndSignals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	_, err := h.app.SaveCheckpoint(t.Context(), h.agent, app.SaveCheckpoint{
		Held: held, Checkpoint: app.CheckpointWrite{Data: []byte("state"), SchemaVersion: 3, NextStep: "go on"},
	})
	check(t, err)
	d := h.ask(held, "write", decision.WriteReversible)
	_, err = h.app.YieldTask(t.Context(), h.agent, app.YieldTask{Held: held, Wait: task.Wait{Decisions: []string{d.ID}}})
	check(t, err)
	h.answer(h.phone, d, "approve")

	w := h.watch("")
	c := h.claim("second")
	w.expect("a claim", effects{Commits: 1, Account: []string{"task"}})
	if c.Task.ID != s.ID || c.Task.Phase != task.Running || c.Task.Lease.ID == held.Lease || c.Task.Lease.ID == "" {
		t.Fatalf("claimed %s %v under %q", c.Task.ID, c.Task.Phase, c.Task.Lease.ID)
	}
	want := store.Checkpoint{Version: 1, Data: []byte("state"), SchemaVersion: 3, NextStep: "go on", CreateTime: h.clock.Now()}
	if diff := cmp.Diff(want, c.Checkpoint); diff != "" {
		t.Errorf("checkpoint (-want +got):\n%s", diff)
	}
	if len(c.Signals) != 1 || c.More || c.Signals[0].Kind != task.DecisionClosed || c.Signals[0].About.Status != decision.Resolved {
		t.Errorf("signals %+v, more %v", c.Signals, c.More)
	}
	// The answer got lost: the same name gives the same lease and signals, even
	// though the labels of the repeat would not do for a new claim.
	h.clock.Advance(time.Second)
	again := h.claim("second")
	if again.Task.Lease.ID != c.Task.Lease.ID || !again.Task.Lease.Until.After(c.Task.Lease.Until) || len(again.Signals) != 1 {
		t.Errorf("a repeated claim got %+v", again.Task.Lease)
	}
	if _, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "third"}}); found || err != nil {
		t.Errorf("a second worker got the same task: %v %v", found, err)
	}
}

func TestClaimTask_WhatMatches(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	create := func(title string, labels map[string]string) string {
		r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: title, Title: title, Labels: labels})
		check(t, err)
		h.clock.Advance(time.Millisecond)
		return r.Task.ID
	}
	ids := map[string]string{
		"linux": create("linux", map[string]string{"os": "linux"}),
		"gpu":   create("gpu", map[string]string{"os": "linux", "gpu": "yes"}),
		"plain": create("plain", nil),
		"late":  create("late", nil),
	}
	friend, _ := h.newAgent(h.account, "Friend")
	for i, c := range []struct {
		name string
		as   app.ClaimTask
		want string
	}{
		{"only what it may", app.ClaimTask{Labels: map[string]string{"os": "mac"}}, "plain"},
		{"only the named one", app.ClaimTask{Task: ids["late"]}, "late"},
		{"the longest waiting", app.ClaimTask{Labels: map[string]string{"os": "linux", "gpu": "yes", "more": "1"}}, "linux"},
		{"a label is missing", app.ClaimTask{Labels: map[string]string{"os": "linux"}}, ""},
		{"the value differs", app.ClaimTask{Labels: map[string]string{"os": "linux", "gpu": "no"}}, ""},
		{"named, but the labels do not match", app.ClaimTask{Task: ids["gpu"]}, ""},
		{"all", app.ClaimTask{Labels: map[string]string{"os": "linux", "gpu": "yes"}}, "gpu"},
	} {
		c.as.Claim.ID = fmt.Sprint(i)
		got, found, err := h.app.ClaimTask(t.Context(), h.agent, c.as)
		check(t, err)
		if found != (c.want != "") || found && got.Task.ID != ids[c.want] {
			t.Errorf("%s: got %q (%v), want %q", c.name, got.Task.Title, found, c.want)
		}
	}
	create("again", nil)
	if _, found, err := h.app.ClaimTask(t.Context(), friend, app.ClaimTask{Claim: app.ClaimOptions{ID: "f"}}); found || err != nil {
		t.Errorf("an agent claimed another one's task: %v %v", found, err)
	}
}

func TestClaimTask_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.createTask("one")
	_, _, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "c", Length: 301 * time.Second}})
	sameError(t, err, &app.FieldError{Field: "claim.lease_duration", Reason: "LIMIT", Max: 300})
	for _, change := range []func(*store.AgentLink){
		func(l *store.AgentLink) { l.Scopes = []store.AgentScope{store.ScopeTaskCreate} },
		func(l *store.AgentLink) { l.Revoked = true },
	} {
		h.link(change)
		if _, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "c"}}); found || err != nil {
			t.Errorf("claimed without the right to: %v %v", found, err)
		}
	}
}

// Tasks of an account in which the agent may not work any more must not hide
// those of another one behind them.
func TestClaimTask_LooksPastTasksItMayNotHave(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for i := range 40 {
		h.createTask(fmt.Sprint(i))
	}
	h.link(func(l *store.AgentLink) { l.Scopes = []store.AgentScope{store.ScopeTaskCreate} })
	other := h.newAccount()
	h.update(other, func(tx *store.Tx) error {
		return tx.PutLink(store.AgentLink{Agent: h.agent.Agent, Scopes: []store.AgentScope{store.ScopeTaskCreate, store.ScopeTaskWork}})
	})
	r, err := h.app.CreateTask(t.Context(), h.agent, app.CreateTask{Key: "k", Title: "reachable", Account: store.AccountID(other)})
	check(t, err)
	if c := h.claim("c"); c.Task.ID != r.Task.ID {
		t.Errorf("claimed %q", c.Task.Title)
	}
}

// Many workers race for many tasks: every one gets one, and none twice.
func TestClaimTask_RaceHasOneWinnerEach(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const n = 64
	for i := range n {
		h.createTask(fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := map[string]int{}
	var missed atomic.Int32
	for i := range n {
		wg.Go(func() {
			c, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: fmt.Sprint("c", i)}})
			if err != nil || !found {
				missed.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			winners[c.Task.ID]++
		})
	}
	wg.Wait()
	if missed.Load() != 0 || len(winners) != n {
		t.Errorf("%d workers went away empty, %d of %d tasks were claimed", missed.Load(), len(winners), n)
	}
}

// R3 and the contract: at most 256 signals or 1 MiB in one answer, then more.
func TestClaimTask_SignalsAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		n, size   int
		min, most int
	}{
		{"many small", 300, 1, 256, 256},
		{"exactly as many as fit", 256, 1, 256, 256},
		{"large ones", 100, 16 << 10, 50, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s := h.createTask("one")
			for i := range c.n {
				_, err := h.app.SendMessage(t.Context(), h.phone.Principal, app.SendMessage{
					Key: fmt.Sprint(i), Thread: s.Thread, Text: strings.Repeat("x", c.size),
				})
				check(t, err)
			}
			claim := h.claim("c")
			held := heldBy(claim)
			seen, size := 0, 0
			signals, more := claim.Signals, claim.More
			for first := true; ; first = false {
				if first && (len(signals) < c.min || len(signals) > c.most) {
					t.Errorf("one answer has %d signals, want %d to %d", len(signals), c.min, c.most)
				}
				var ids []uint64
				for _, sig := range signals {
					seen++
					ids, size = append(ids, sig.ID), size+len(sig.Text)
					if sig.ID != uint64(seen) {
						t.Fatalf("signal %d came as number %d", sig.ID, seen)
					}
				}
				if size > 1<<20 {
					t.Errorf("one answer has %d bytes of signals", size)
				}
				if wantMore := seen < c.n; more != wantMore {
					t.Fatalf("after %d of %d more is %v", seen, c.n, more)
				}
				if !more {
					break
				}
				check(t, h.app.AckSignals(t.Context(), h.agent, app.AckSignals{Held: held, Signals: ids}))
				beat, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
				check(t, err)
				signals, more, size = beat.Signals, beat.More, 0
			}
			if seen != c.n {
				t.Errorf("saw %d of %d signals", seen, c.n)
			}
		})
	}
}

// A signal about a decision weighs as much as the decision does, words of the
// answer included.
func TestClaimTask_DecisionsCountByTheirSize(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	long := strings.Repeat("w", 4096)
	for i := range 40 {
		items := make([]decision.Item, decision.MaxItems)
		for j := range items {
			items[j] = decision.Item{ID: fmt.Sprint(j), Question: "Which?"}
		}
		d, err := h.app.RequestDecision(t.Context(), h.agent, app.RequestDecision{
			Held: held, Name: fmt.Sprint(i), Kind: decision.Text, Title: fmt.Sprint("Words ", i), Items: append(items[:15:15], decision.Item{ID: "last", Question: fmt.Sprint(i)}),
		})
		check(t, err)
		c := reply(t, d, "answer")
		for j := range c.Items {
			c.Items[j].Text = long
		}
		h.giveSigned(d, c)
	}
	_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
	check(t, err)
	claim := h.claim("c")
	size := 0
	for _, s := range claim.Signals {
		for _, it := range s.About.Answer.Items {
			size += len(it.Text)
		}
	}
	if size > 1<<20 || !claim.More {
		t.Errorf("one answer carries %d bytes of answers in %d signals, more %v", size, len(claim.Signals), claim.More)
	}
}
