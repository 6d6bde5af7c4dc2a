package task_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/task"
)

// step is Decide and Apply; a refusal fails the test.
func step(t *testing.T, s task.State, c task.Command) task.State {
	t.Helper()
	events, err := task.Decide(s, c, now)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return task.ApplyAll(s, events, now)
}

// lostBefore is a running task with so many lost leases in a row behind it.
func lostBefore(n int) task.State {
	s := at(task.Running, task.HoldNone)
	s.Attempts = n
	return s
}

// What a command leaves behind, whole.
func TestDecide_LeavesBehind(t *testing.T) {
	t.Parallel()
	wait := task.Wait{Mode: task.All, Decisions: []string{"d1", "d2"}}
	for _, test := range []struct {
		name    string
		from    task.State
		command task.Command
		want    func(*task.State)
	}{
		{"claim keeps the count of lost leases", at(task.Ready, task.HoldNone), task.Claim{Lease: lease(other, "c2")}, func(s *task.State) {
			s.Phase, s.Lease = task.Running, lease(other, "c2")
		}},
		{"the same claim id gets the same lease, for its own length again", at(task.Running, task.HoldStop),
			task.Claim{Lease: task.Lease{ID: other, ClaimID: "claim-held", Length: time.Hour, Until: now.Add(time.Hour)}},
			func(s *task.State) { s.Lease.Until = now.Add(time.Minute) }},
		{"heartbeat extends by the lease's length and counts nothing", at(task.Running, task.HoldNone), task.Heartbeat{Lease: held}, func(s *task.State) {
			s.Lease.Until = now.Add(time.Minute)
		}},
		{"checkpoint", at(task.Running, task.HoldNone), task.SaveCheckpoint{Lease: held, Expected: 4}, func(s *task.State) {
			s.Checkpoint, s.Attempts = 5, 0
		}},
		{"ack", at(task.Running, task.HoldNone), task.Ack{Lease: held}, func(s *task.State) { s.Attempts = 0 }},
		{"progress is no sign of getting on", at(task.Running, task.HoldNone), task.UpdateProgress{Lease: held, Progress: task.Progress{Text: "half"}},
			func(s *task.State) { s.Progress.Text = "half" }},
		{"yield", at(task.Running, task.HoldPause), task.Yield{Lease: held, Wait: wait}, func(s *task.State) {
			s.Phase, s.Lease, s.Wait, s.Attempts = task.Waiting, task.Lease{}, wait, 0
			s.Ended = task.Ended{Lease: held, Op: task.OpYield, Phase: task.Waiting}
		}},
		{"yield under STOP", at(task.Running, task.HoldStop), task.Yield{Lease: held, Wait: wait}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts, s.EndTime = task.Canceled, task.Lease{}, 0, now
			s.Ended = task.Ended{Lease: held, Op: task.OpYield, Phase: task.Canceled}
		}},
		{"release", at(task.Running, task.HoldNone), task.Release{Lease: held}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts = task.Ready, task.Lease{}, 0
			s.Ended = task.Ended{Lease: held, Op: task.OpRelease, Phase: task.Ready}
		}},
		{"complete under STOP keeps its truth", at(task.Running, task.HoldStop), task.Complete{Lease: held, Result: &task.Result{Summary: "ok"}}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts, s.EndTime = task.Completed, task.Lease{}, 0, now
			s.Result, s.Ended = &task.Result{Summary: "ok"}, task.Ended{Lease: held, Op: task.OpComplete, Phase: task.Completed}
		}},
		{"fail under STOP keeps its truth", at(task.Running, task.HoldStop), task.Fail{Lease: held, Failure: task.Failure{Code: "x"}}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts, s.EndTime = task.Failed, task.Lease{}, 0, now
			s.Failure, s.Ended = &task.Failure{Code: "x"}, task.Ended{Lease: held, Op: task.OpFail, Phase: task.Failed}
		}},
		{"stop says who and why and takes the place of a pause", at(task.Running, task.HoldPause), task.Stop{By: "me", Reason: "enough"}, func(s *task.State) {
			s.Hold = task.Hold{Kind: task.HoldStop, By: "me", Reason: "enough", Since: now}
		}},
		{"wake under a hold shows once it is lifted", at(task.Waiting, task.HoldReview), task.Wake{Satisfied: true}, func(s *task.State) {
			s.Phase, s.Wait = task.Ready, task.Wait{}
		}},
		{"the first lost lease in a row counts and costs no time", lostBefore(0), task.LoseLease{Lease: held}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts = task.Ready, task.Lease{}, 1
		}},
		{"another one costs time", lostBefore(1), task.LoseLease{Lease: held}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts = task.Waiting, task.Lease{}, 2
			s.Wait = task.Wait{Mode: task.Any, Until: now.Add(5 * time.Second), Retry: true}
		}},
		{"a lease lost while a question is open counts nothing", at(task.Running, task.HoldNone), task.LoseLease{Lease: held, Pending: []string{"d7", "d8"}}, func(s *task.State) {
			s.Phase, s.Lease, s.Wait = task.Waiting, task.Lease{}, task.Wait{Mode: task.Any, Decisions: []string{"d7", "d8"}}
		}},
		{"but it does not sleep on the question while something is unheard, and that counts", at(task.Running, task.HoldNone), task.LoseLease{Lease: held, Pending: []string{"d7"}, Unacked: true}, func(s *task.State) {
			s.Phase, s.Lease, s.Attempts = task.Waiting, task.Lease{}, 2
			s.Wait = task.Wait{Mode: task.Any, Until: now.Add(5 * time.Second), Retry: true}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := test.from
			test.want(&want)
			if diff := cmp.Diff(want, step(t, test.from, test.command)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// A worker whose answer got lost says the same again and hears no error; saying
// something else is a lost lease.
func TestDecide_RepeatedEnd(t *testing.T) {
	t.Parallel()
	one, same, two := int32(1), int32(1), int32(2)
	result := func(status *int32, data []byte) task.Complete {
		return task.Complete{Lease: held, Result: &task.Result{Summary: "ok", DataJSON: data, ExitStatus: status}}
	}
	failure := func(status *int32) task.Fail {
		return task.Fail{Lease: held, Failure: task.Failure{Code: "exit", ExitStatus: status}}
	}
	for _, test := range []struct {
		name          string
		first, second task.Command
		lost          bool
	}{
		{"complete", result(&one, []byte("{}")), result(&same, []byte("{}")), false},
		{"complete with no data, stored as none", result(&one, nil), result(&one, []byte{}), false},
		{"complete with other data", result(&one, nil), result(&one, []byte("{}")), true},
		{"complete with another status", result(&one, nil), result(&two, nil), true},
		{"complete with no status", result(&one, nil), result(nil, nil), true},
		{"complete with no result", task.Complete{Lease: held}, task.Complete{Lease: held}, false},
		{"complete with a result after none", task.Complete{Lease: held}, result(nil, nil), true},
		{"complete with none after a result", result(nil, nil), task.Complete{Lease: held}, true},
		{"fail", failure(&one), failure(&same), false},
		{"fail with another status", failure(&one), failure(&two), true},
		{"complete after fail", failure(&one), task.Complete{Lease: held}, true},
		{"fail after complete", result(&one, nil), failure(&one), true},
		{"release after complete", result(&one, nil), task.Release{Lease: held}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := step(t, at(task.Running, task.HoldNone), test.first)
			events, err := task.Decide(s, test.second, now)
			if len(events) != 0 || (err == task.ErrLeaseLost) != test.lost {
				t.Errorf("events %v, error %v; want lost: %v", events, err, test.lost)
			}
		})
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	s := task.Create(task.State{ID: "tsk_1", MaxAttempts: 3}, task.Lease{}, now)
	if !s.Claimable() || !s.CreateTime.Equal(now) {
		t.Errorf("a new task is %s, held %s, created %v", s.Phase, s.Hold.Kind, s.CreateTime)
	}
	s = task.Create(task.State{ID: "tsk_1", MaxAttempts: 1}, lease(held, "c"), now)
	if s.Phase != task.Running || s.Lease.ID != held || s.Hold.Kind != task.HoldNone || !s.Wrapped() {
		t.Errorf("a task born claimed is %s, held %s, lease %q", s.Phase, s.Hold.Kind, s.Lease.ID)
	}
}

func TestCheckpointConflict_NamesTheNewest(t *testing.T) {
	t.Parallel()
	_, err := task.Decide(at(task.Running, task.HoldNone), task.SaveCheckpoint{Lease: held, Expected: 5}, now)
	if diff := cmp.Diff(&task.CheckpointConflictError{Version: 4}, err); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestLabelsMatch(t *testing.T) {
	t.Parallel()
	s := task.State{Labels: map[string]string{"os": "linux", "gpu": ""}}
	for _, test := range []struct {
		worker map[string]string
		want   bool
	}{
		{map[string]string{"os": "linux", "gpu": "", "more": "x"}, true},
		{map[string]string{"os": "linux"}, false}, // no label is not an empty one
		{map[string]string{"os": "darwin", "gpu": ""}, false},
		{nil, false},
	} {
		if got := s.LabelsMatch(test.worker); got != test.want {
			t.Errorf("worker %v: %v, want %v", test.worker, got, test.want)
		}
	}
	if !(task.State{}).LabelsMatch(nil) {
		t.Error("a task without labels refuses a worker without any")
	}
}
