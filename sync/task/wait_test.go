package task_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/task"
)

func TestWait_Satisfied(t *testing.T) {
	t.Parallel()
	past, future := now.Add(-time.Second), now.Add(time.Second)
	for _, test := range []struct {
		name   string
		wait   task.Wait
		closed []string
		want   bool
	}{
		{"any, none", task.Wait{Mode: task.Any, Decisions: []string{"a", "b"}}, nil, false},
		{"any, one", task.Wait{Mode: task.Any, Decisions: []string{"a", "b"}}, []string{"b"}, true},
		{"any, a stranger", task.Wait{Mode: task.Any, Decisions: []string{"a"}}, []string{"c"}, false},
		{"all, one", task.Wait{Mode: task.All, Decisions: []string{"a", "b"}}, []string{"b"}, false},
		{"all, both", task.Wait{Mode: task.All, Decisions: []string{"a", "b"}}, []string{"a", "b"}, true},
		{"until, not yet", task.Wait{Mode: task.Any, Until: future}, nil, false},
		{"until, this moment", task.Wait{Mode: task.All, Until: now}, nil, true},
		{"until wakes whatever is open", task.Wait{Mode: task.All, Decisions: []string{"a"}, Until: past}, nil, true},
		{"until beside an open member", task.Wait{Mode: task.All, Decisions: []string{"a"}, Until: future}, nil, false},
		{"any, a timer", task.Wait{Mode: task.Any, Decisions: []string{"a"}, Timers: []string{"t"}}, []string{"t"}, true},
		{"all, only the timer", task.Wait{Mode: task.All, Decisions: []string{"a"}, Timers: []string{"t"}}, []string{"t"}, false},
		{"all, only the decision", task.Wait{Mode: task.All, Decisions: []string{"a"}, Timers: []string{"t"}}, []string{"a"}, false},
		{"all, both kinds", task.Wait{Mode: task.All, Decisions: []string{"a"}, Timers: []string{"t"}}, []string{"a", "t"}, true},
		{"nothing is never satisfied", task.Wait{Mode: task.All}, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.wait.Satisfied(having(test.closed), now); got != test.want {
				t.Errorf("satisfied %v, want %v", got, test.want)
			}
		})
	}
}

// having are sources where all of this has happened.
func having(happened []string) task.Sources {
	has := func(m string) bool { return slices.Contains(happened, m) }
	return task.Sources{Closed: has, Fired: has}
}

func TestWaking(t *testing.T) {
	t.Parallel()
	wait := task.Wait{Mode: task.All, Decisions: []string{"named"}}
	for _, test := range []struct {
		signal task.Signal
		want   bool
	}{
		{task.Signal{Kind: task.Message}, true},
		{task.Signal{Kind: task.HoldLifted}, true},
		{task.Signal{Kind: task.ApprovalRevoked, Decision: "named"}, true},
		{task.Signal{Kind: task.DecisionClosed, Decision: "named"}, false},
		{task.Signal{Kind: task.DecisionClosed, Decision: "another"}, true},
		{task.Signal{Kind: task.ResultSentBack}, true},
		{task.Signal{Kind: task.TimerFired, Timer: "t"}, false},
		{task.Signal{Kind: task.Silence}, false},
		{task.Signal{Kind: task.WaitTimeout}, false},
		{task.Signal{}, false},
	} {
		if got := task.Waking(test.signal, wait); got != test.want {
			t.Errorf("signal %+v wakes: %v, want %v", test.signal, got, test.want)
		}
	}
}

// R2: decisions named under all wake once, when the last of them closes, in
// whatever order and however often their signals are looked at.
func TestWait_AllWakesOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "decisions")
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("d", i))
		}
		closed, woken := map[string]bool{}, 0
		s := at(task.Running, task.HoldNone)
		wait := task.Wait{Mode: task.All, Decisions: names}
		events, _ := task.Decide(s, task.Yield{Lease: held, Wait: wait}, now)
		s = task.ApplyAll(s, events, now)
		look := func(signal task.Signal) {
			satisfied := s.Wait.Satisfied(task.Sources{Closed: func(d string) bool { return closed[d] }}, now)
			events, _ := task.Decide(s, task.Wake{Satisfied: satisfied, Waking: task.Waking(signal, s.Wait)}, now)
			s = task.ApplyAll(s, events, now)
			woken += len(events)
		}
		for i, d := range rapid.Permutation(names).Draw(t, "order") {
			if woken != 0 {
				t.Fatalf("woken after %d of %d", i, n)
			}
			closed[d] = true
			for range rapid.IntRange(1, 3).Draw(t, "looks") {
				look(task.Signal{Kind: task.DecisionClosed, Decision: d})
			}
		}
		if woken != 1 || s.Phase != task.Ready {
			t.Fatalf("woken %d times, now %s", woken, s.Phase)
		}
	})
}
