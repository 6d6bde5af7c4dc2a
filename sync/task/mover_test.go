package task_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

func TestState_NextMover(t *testing.T) {
	t.Parallel()
	waits := func(w task.Wait) task.State {
		s := at(task.Waiting, task.HoldNone)
		s.Wait = w
		return s
	}
	leaseless := at(task.Running, task.HoldNone)
	leaseless.Lease = task.Lease{}
	for name, c := range map[string]struct {
		s    task.State
		want task.Mover
	}{
		"ended":                       {at(task.Failed, task.HoldNone), task.MoverNone},
		"ready":                       {at(task.Ready, task.HoldNone), task.MoverQueue},
		"ready and paused":            {at(task.Ready, task.HoldPause), task.MoverHold},
		"running":                     {at(task.Running, task.HoldNone), task.MoverLease},
		"running and stopping":        {at(task.Running, task.HoldStop), task.MoverLease},
		"running without a lease":     {leaseless, task.NoMover},
		"waiting under review":        {at(task.Waiting, task.HoldReview), task.MoverHold},
		"waiting for an open one":     {waits(task.Wait{Mode: task.All, Decisions: []string{"closed", "open"}}), task.MoverPerson},
		"waiting for what is over":    {waits(task.Wait{Mode: task.All, Decisions: []string{"closed"}}), task.NoMover},
		"waiting for a timer":         {waits(task.Wait{Mode: task.Any, Timers: []string{"runs"}}), task.MoverTime},
		"waiting for one that is out": {waits(task.Wait{Mode: task.Any, Timers: []string{"gone"}}), task.NoMover},
		"waiting for a time":          {waits(task.Wait{Decisions: []string{"closed"}, Until: now.Add(time.Hour)}), task.MoverTime},
	} {
		got := c.s.NextMover(func(d string) bool { return d == "open" }, func(k string) bool { return k == "runs" })
		if got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
