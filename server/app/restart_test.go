package app_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// many is the number of tasks at a restart.
const many = 1000

func withRoom(l *policy.Limits) { l.OpenTasks, l.OpenDecisions = 2*many, 2*many }

// paperclip#9184, R2: a restart with a thousand answers that no agent has heard
// wakes a thousand tasks by itself: each is claimed with its own answer, once,
// and the start writes nothing for it.
func TestRestart_ThousandUndeliveredAnswers(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(withRoom))
	asked := map[string]string{} // by task
	for i := range many {
		s, held := h.startTask(fmt.Sprint(i))
		d := h.ask(held, "a", decision.WriteReversible)
		h.sleep(held, task.Wait{Decisions: []string{d.ID}})
		asked[s.ID] = d.ID
		h.answer(h.phone, d, "approve")
	}
	h.clock.Advance(time.Minute)
	before := h.commits.n.Load()
	h.restart()
	h.due()
	if n := h.commits.n.Load() - before; n != 0 {
		t.Errorf("the start made %d commits", n)
	}

	const workers = 8
	var (
		running sync.WaitGroup
		mu      sync.Mutex
	)
	woken := map[string]bool{}
	for w := range workers {
		running.Go(func() {
			for i := 0; ; i++ {
				c, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: fmt.Sprintf("worker %d claim %d", w, i)}})
				if err != nil {
					t.Error(err)
				}
				if err != nil || !found {
					return
				}
				mu.Lock()
				if woken[c.Task.ID] || len(c.Signals) != 1 || c.Signals[0].Decision != asked[c.Task.ID] || c.Signals[0].About.Status != decision.Resolved {
					t.Errorf("task %s, claimed before: %v, is told %+v", c.Task.Title, woken[c.Task.ID], c.Signals)
				}
				woken[c.Task.ID] = true
				mu.Unlock()
			}
		})
	}
	running.Wait()
	if len(woken) != many {
		t.Errorf("%d of %d tasks were woken", len(woken), many)
	}
	if n := h.commits.n.Load() - before; n != many {
		t.Errorf("%d commits for %d claims", n, many)
	}
}

// R4: an hour without a server costs a thousand running tasks no attempt, and
// the start a handful of commits.
func TestRestart_AnHourOfDowntimeCostsNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t, withLimits(withRoom))
	var held []app.Held
	for i := range many {
		_, of := h.startTask(fmt.Sprint(i))
		held = append(held, of)
	}
	h.clock.Advance(time.Hour)
	before := h.commits.n.Load()
	h.restart()
	for next := h.due(); !next.After(h.clock.Now()); next = h.due() {
	}
	if n := h.commits.n.Load() - before; n > many/100 {
		t.Errorf("the start made %d commits for %d leases", n, many)
	}
	for _, of := range held {
		_, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: of})
		check(t, err)
	}
	h.clock.Advance(lease - time.Microsecond)
	h.due()
	h.view(h.account, func(tx *store.Read) error {
		tasks, err := tx.LiveTasks("")
		for _, s := range tasks {
			if s.Phase != task.Running || s.Attempts != 0 {
				t.Fatalf("%s is %v with %d attempts", s.Title, s.Phase, s.Attempts)
			}
			if told, _, err := tx.Signals(s.ID, 0, 1); len(told) != 0 || err != nil {
				t.Fatalf("%s is told %+v, %v", s.Title, told, err)
			}
		}
		if len(tasks) != many {
			t.Errorf("%d tasks", len(tasks))
		}
		return err
	})
}
