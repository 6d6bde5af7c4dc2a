package scenario_test

import (
	"os"
	"path/filepath"
	"testing"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// dieAt restarts the server so that it kills itself at the named place. It is
// stopped in order for that: a push whose verdict was not stored yet would be
// sent again, and a second window would be open beside the one of the test.
func (h *house) dieAt(point string) {
	h.t.Helper()
	mark := filepath.Join(h.t.TempDir(), "mark")
	h.server.Stop()
	h.server.Start("BECKON_FAILPOINT="+point, "BECKON_FAILPOINT_MARK="+mark)
	h.t.Cleanup(func() {
		if _, err := os.Stat(mark); err != nil {
			h.t.Errorf("the server never reached %s: %v", point, err)
		}
	})
}

// dead waits until the server has killed itself and hands what it left on disk
// to fn: the proof that the window was real.
func (h *house) dead(fn func(*store.Read)) {
	h.t.Helper()
	if code := h.server.Process.Wait(); code != -1 {
		h.t.Fatalf("the server ended with %d", code)
	}
	engine, err := boltstore.Open(h.server.Data, boltstore.Options{})
	h.check(err)
	defer func() { h.check(engine.Close()) }()
	kept, err := store.Open(h.ctx(), engine, store.Config{})
	h.check(err)
	account, _ := store.AccountKeyOf(store.KindInstallation, h.phone)
	h.check(kept.View(h.ctx(), account, func(r *store.Read) error {
		fn(r)
		return nil
	}))
}

// must is a row that has to be there.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rows are the outbox rows of an account, by state.
func rows(r *store.Read) map[push.State]int {
	out := map[push.State]int{}
	for _, d := range must(r.Deliveries()) {
		out[d.State]++
	}
	return out
}

// later runs a call that will lose its server on the way.
func later[T any](call func() (T, error)) <-chan result[T] {
	out := make(chan result[T], 1)
	go func() {
		v, err := call()
		out <- result[T]{v, err}
	}()
	return out
}

type result[T any] struct {
	value T
	err   error
}

func (h *house) onTime(w *beckon.Work) *v1.Decision {
	h.t.Helper()
	d := h.askAndSleep(w)
	h.exactly(1)
	return d
}

// The question is on disk, the push is not out: the row rings after the restart.
func TestKilled_AfterDecisionBeforePush(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("Vet the packages")
	h.dieAt("decision.committed")
	asked := later(func() (*v1.Decision, error) { return w.Ask(h.ctx(), writeReport("write")) })
	var id string
	h.dead(func(r *store.Read) {
		open := must(r.OpenDecisions(w.ID()))
		if len(open) != 1 || rows(r)[push.Pending] != 1 {
			t.Fatalf("on disk: %d questions, rows %v", len(open), rows(r))
		}
		id = open[0].ID
	})
	if n := sent(h.phones.Log()); n != 0 {
		t.Fatalf("%d pushes were out already", n)
	}
	h.server.Restart()
	got := <-asked
	h.check(got.err)
	if got.value.GetId() != id {
		t.Errorf("the repeated question is %s, on disk was %s", got.value.GetId(), id)
	}
	h.exactly(1)
	h.tellTheRest(w, h.askAndSleep(w))
}

// The vendor has it, the row does not know: it is sent again under the same
// identity, which the phone takes for a replacement.
func TestKilled_AfterAcceptBeforeFinish(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("Vet the packages")
	h.dieAt("push.accepted")
	asked := later(func() (*v1.Decision, error) { return w.Ask(h.ctx(), writeReport("write")) })
	h.dead(func(r *store.Read) {
		if got := rows(r); got[push.Leased] != 1 {
			t.Fatalf("on disk: rows %v", got)
		}
	})
	if n := sent(h.phones.Log()); n != 1 {
		t.Fatalf("%d pushes were out", n)
	}
	h.server.Restart()
	h.check((<-asked).err)
	log := h.phones.Await("the push to be sent again", func(log []stack.Entry) bool { return sent(log) == 2 })
	ids := map[string]bool{}
	for _, e := range log {
		if e.Source == "apns" {
			ids[e.Record.APNsID+" "+e.Record.CollapseID] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("sent again under other identities: %v", ids)
	}
	h.tellTheRest(w, h.askAndSleep(w))
}

// objectstack#4420: the approval is saved, and the run never goes on. The answer is
// on disk, nobody was woken: the task is READY for whoever asks.
func TestKilled_AfterAnswerBeforeWake(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.onTime(h.started("Vet the packages"))
	h.dieAt("answer.committed")
	tapped := later(func() (stack.Tapped, error) { return h.phones.Tap("approve"), nil })
	h.dead(func(r *store.Read) {
		kept := must(r.Decision(d.GetId()))
		s := must(r.Task(d.GetTaskId()))
		signals, _, err := r.Signals(s.ID, 0, 10)
		if err != nil || kept.Status != decision.Resolved || s.Phase != task.Ready || len(signals) != 1 {
			t.Fatalf("on disk: %v, task %v, %d signals", kept.Status, s.Phase, len(signals))
		}
	})
	h.server.Restart()
	// The phone did not hear the answer and taps again: the same, once.
	if got := (<-tapped).value; !got.Counted || got.Result.Outcome != "SAME" {
		t.Errorf("the repeated tap met %+v", got)
	}
	h.finish(h.newAgent(), d)
	h.exactly(2)
}

// The claim is on disk, the worker has not heard: the same call finds it again
// and no attempt is lost.
func TestKilled_InClaim(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	d := h.onTime(h.started("Vet the packages"))
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		t.Fatalf("the tap met %+v", tapped)
	}
	h.dieAt("claim.committed")
	worker := h.newAgent()
	ended := later(func() (*v1.Task, error) { return h.finish(worker, d), nil })
	var lease string
	h.dead(func(r *store.Read) {
		s := must(r.Task(d.GetTaskId()))
		if s.Phase != task.Running || s.Lease.ClaimID == "" {
			t.Fatalf("on disk: %v under %+v", s.Phase, s.Lease)
		}
		lease = s.Lease.ID
	})
	h.server.Restart()
	got := (<-ended).value
	if got.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || got.GetAttempts() != 0 {
		t.Errorf("ended as %v after %d lost leases; the lease was %s", got.GetPhase(), got.GetAttempts(), lease)
	}
	h.exactly(2)
}

// The checkpoint is on disk, the worker has not heard: its repeat is answered as
// the first would have been.
func TestKilled_InCheckpoint(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("Vet the packages")
	h.dieAt("checkpoint.committed")
	saved := later(func() (uint64, error) { return w.Save(h.ctx(), &v1.CheckpointWrite{Data: []byte("vetted")}) })
	h.dead(func(r *store.Read) {
		s := must(r.Task(w.ID()))
		if s.Checkpoint != 1 || string(must(r.Checkpoint(s)).Data) != "vetted" {
			t.Fatalf("on disk: version %d", s.Checkpoint)
		}
	})
	h.server.Restart()
	got := <-saved
	h.check(got.err)
	if got.value != 1 {
		t.Errorf("the repeat stored version %d", got.value)
	}
	d, err := w.Ask(h.ctx(), writeReport("write"))
	h.check(err)
	_, err = w.Yield(h.ctx(), &v1.WaitSet{DecisionIds: []string{d.GetId()}}, nil)
	h.check(err)
	h.tellTheRest(w, d)
}

// tellTheRest is the story from the open question on.
func (h *house) tellTheRest(w *beckon.Work, d *v1.Decision) {
	h.t.Helper()
	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		h.t.Fatalf("the tap met %+v", tapped)
	}
	ended := h.finish(h.newAgent(), d)
	if ended.GetId() != w.ID() || ended.GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED {
		h.t.Error("ended as", ended)
	}
	h.exactly(2)
}
