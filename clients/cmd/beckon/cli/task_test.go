package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// What a task waits for, in words.
func TestTaskDetail_Words(t *testing.T) {
	t.Parallel()
	when := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at, said := timestamppb.New(when), clock(when)
	for name, c := range map[string]struct {
		task *v1.Task
		want [][2]string
	}{
		"nobody is there": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_READY, WaitingFor: &v1.WaitingFor{Since: at, What: "os=linux"}, Labels: map[string]string{"os": "linux", "gpu": "none"}},
			[][2]string{{"state", "waiting for os=linux since " + said}, {"labels", "gpu=none, os=linux"}},
		},
		"lost again": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_WAITING, RetryTime: at, Attempts: 2, MaxAttempts: 5},
			[][2]string{{"state", "its worker was lost; will be tried again at " + said}, {"attempts", "lost its worker 2 of at most 5 times in a row"}},
		},
		"any of": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_WAITING, Wait: &v1.WaitSet{Mode: v1.WaitMode_WAIT_MODE_ANY, DecisionIds: []string{"dec_1"}, Timers: []string{"nap\nx"}}},
			[][2]string{{"waits for", `the answer to dec_1 or timer "nap\nx"`}},
		},
		"all of, until": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_WAITING, Wait: &v1.WaitSet{Mode: v1.WaitMode_WAIT_MODE_ALL, DecisionIds: []string{"dec_1", "dec_2"}, Until: at}},
			[][2]string{{"waits for", "the answer to dec_1 and the answer to dec_2, until " + said + " at the latest"}},
		},
		"until alone": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_WAITING, Wait: &v1.WaitSet{Mode: v1.WaitMode_WAIT_MODE_ANY, Until: at}},
			[][2]string{{"waits for", "until " + said}},
		},
		"paused, with a deadline": {
			&v1.Task{Phase: v1.TaskPhase_TASK_PHASE_READY, Deadline: at, Hold: &v1.Hold{Kind: v1.HoldKind_HOLD_KIND_PAUSE, By: "ins_1", Reason: "not\nnow", Since: at}},
			[][2]string{{"held", "pause since " + said + " by ins_1: not␤now"}, {"deadline", said}},
		},
	} {
		if diff := cmp.Diff(c.want, taskDetailOf(c.task).facts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
