package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// worker starts an agent's process of its own.
func (h *house) worker(j job) *stack.Process {
	h.t.Helper()
	j.Key = h.key
	encoded, err := json.Marshal(j)
	h.check(err)
	self, err := os.Executable()
	h.check(err)
	return stack.Start(h.t, []string{workerEnv + "=" + string(encoded)}, self)
}

// ready is a task that waits for a worker.
func (h *house) ready(attempts uint32) *v1.Task {
	h.t.Helper()
	res, err := h.agent.Tasks.CreateTask(h.ctx(), &v1.CreateTaskRequest{IdempotencyKey: "ready", Title: "Vet", MaxAttempts: attempts})
	h.check(err)
	return res.GetTask()
}

// The agent dies while the person thinks; the answer is kept; another process
// goes on from the checkpoint, and step one is not done again.
func TestAgentKilled_WhileItWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	made := h.ready(5)
	counter := filepath.Join(t.TempDir(), "counter")
	first := h.worker(job{Counter: counter, Lease: 2 * time.Second})
	first.Expect("asked")
	h.exactly(1)
	first.Kill()

	if tapped := h.phones.Tap("approve"); !tapped.Counted {
		t.Fatalf("the tap met %+v", tapped)
	}
	second := h.worker(job{Counter: counter, Lease: 30 * time.Second})
	second.Expect("answered DECISION_STATE_RESOLVED")
	if code := second.Wait(); code != 0 {
		t.Fatalf("the second worker ended with %d: %s", code, second.Output())
	}
	got, err := h.owner.Tasks.GetTask(h.ctx(), &v1.GetTaskRequest{TaskId: made.GetId()})
	h.check(err)
	if got.GetTask().GetPhase() != v1.TaskPhase_TASK_PHASE_COMPLETED || len(got.GetDecisions()) != 1 {
		t.Errorf("%v with %d questions", got.GetTask().GetPhase(), len(got.GetDecisions()))
	}
	if n, err := counted(counter); err != nil || n != 1 {
		t.Errorf("step one ran %d times, %v", n, err)
	}
	h.exactly(2)
}

// Workers that die right after the claim, again and again, are an end that the
// person sees: once, with its reason.
func TestAgentKilled_WithoutACheckpoint(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	made := h.ready(3)
	for range 3 {
		w := h.worker(job{Lease: time.Second, Die: true})
		if code := w.Wait(); code != 0 {
			t.Fatalf("a worker ended with %d: %s", code, w.Output())
		}
	}
	h.exactly(1)
	got, err := h.owner.Tasks.GetTask(h.ctx(), &v1.GetTaskRequest{TaskId: made.GetId()})
	h.check(err)
	if s := got.GetTask(); s.GetPhase() != v1.TaskPhase_TASK_PHASE_FAILED || s.GetFailure().GetCode() != "could_not_resume" {
		t.Error("ended as", s)
	}
}

// A server that was down for longer than a lease costs its tasks nothing.
func TestServerDown_CostsNoAttempt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w, err := h.agent.Start(h.ctx(), &v1.CreateTaskRequest{
		Title: "Vet", MaxAttempts: 2, Claim: &v1.ClaimOptions{LeaseDuration: durationpb.New(time.Second)},
	})
	h.check(err)
	h.server.Process.Kill()
	<-time.After(1500 * time.Millisecond) // the lease runs out while nobody could extend it
	h.server.Start()
	beat, err := w.API().Tasks.Heartbeat(h.ctx(), &v1.HeartbeatRequest{TaskId: w.ID(), LeaseId: w.Lease})
	h.check(err)
	got, err := h.owner.Tasks.GetTask(h.ctx(), &v1.GetTaskRequest{TaskId: w.ID()})
	h.check(err)
	if got.GetTask().GetAttempts() != 0 || beat.GetHold().GetKind() != v1.HoldKind_HOLD_KIND_NONE {
		t.Error("after the restart:", got.GetTask())
	}
}
