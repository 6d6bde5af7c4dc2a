package app_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// everyKind leaves one task in every state that has to have a next mover.
func (h *harness) everyKind() map[string]task.State {
	h.t.Helper()
	out := map[string]task.State{"ready": h.createTask("ready")}
	running, _ := h.startTask("running")
	out["running"] = running
	asks, held := h.startTask("asks")
	d := h.ask(held, "a", decision.WriteReversible)
	h.sleep(held, task.Wait{Decisions: []string{d.ID}})
	out["asks"] = asks
	naps, held := h.startTask("naps")
	h.timer(held, "nap", time.Hour)
	h.sleep(held, task.Wait{Timers: []string{"nap"}})
	out["naps"] = naps
	dozes, held := h.startTask("dozes")
	h.sleep(held, task.Wait{Until: h.clock.Now().Add(time.Hour)})
	out["dozes"] = dozes
	paused := h.createTask("paused")
	h.pause(paused.ID)
	out["paused"] = paused
	offers, held := h.reviewed("offers")
	h.offered(held, "The report.")
	out["offers"] = offers
	ended := h.createTask("ended")
	h.stop("k", ended.ID)
	return out
}

// R6: what has not ended has a next mover, in every state.
func TestFindStuck_NothingIs(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.everyKind()
	stuck, err := h.app.FindStuck(t.Context())
	check(t, err)
	if len(stuck) != 0 {
		t.Errorf("stuck: %+v", stuck)
	}
}

// A pointer that a fault took is missed, named and given back.
func TestSweepStuck_GivesPointersBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table string
		want  task.Mover
	}{
		"ready":   {"pointready", task.MoverQueue},
		"running": {"pointdue", task.MoverLease},
		"naps":    {"pointdue", task.MoverTime},
		"dozes":   {"pointdue", task.MoverTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			s := h.everyKind()[name]
			h.lose(c.table, s.ID)
			stuck, err := h.app.SweepStuck(t.Context())
			check(t, err)
			if len(stuck) != 1 || stuck[0].Task != s.ID || stuck[0].Mover != c.want || !stuck[0].Mended {
				t.Fatalf("found %+v", stuck)
			}
			if again, err := h.app.SweepStuck(t.Context()); err != nil || len(again) != 0 {
				t.Errorf("after mending: %+v %v", again, err)
			}
		})
	}
}

// A task that sleeps on what has long happened is woken.
func TestSweepStuck_WakesTheAnswered(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s := h.everyKind()["asks"]
	h.update(h.account, func(tx *store.Tx) error {
		d, err := tx.Decision(h.task(s.ID).Wait.Decisions[0])
		if err != nil {
			return err
		}
		d.Status = decision.Withdrawn // as no verb would leave it
		return tx.PutDecision(d)
	})
	stuck, err := h.app.SweepStuck(t.Context())
	check(t, err)
	if len(stuck) != 1 || stuck[0].Mover != task.NoMover || !stuck[0].Mended || h.task(s.ID).Phase != task.Ready {
		t.Errorf("found %+v, the task is %v", stuck, h.task(s.ID).Phase)
	}
}

// lose takes the rows of a pointer table that name a task.
func (h *harness) lose(table, id string) {
	h.t.Helper()
	check(h.t, h.commits.Engine.Update(h.t.Context(), h.account, func(w store.Writer) error {
		var keys [][]byte
		err := w.Scan(store.Table(table), nil, nil, func(k, _ []byte) bool {
			if bytes.Contains(k, []byte(id)) {
				keys = append(keys, append([]byte(nil), k...))
			}
			return true
		})
		for _, k := range keys {
			if err == nil {
				err = w.Delete(store.Table(table), k)
			}
		}
		return err
	}))
}
