package task_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/task"
)

// R5: what is told of a claimable task, from what was seen of workers.
func TestLook(t *testing.T) {
	t.Parallel()
	ready := func(before time.Duration, told task.NoWorker) task.State {
		s := at(task.Ready, task.HoldNone)
		s.ReadyTime, s.LookTime, s.NoWorker = now.Add(-before), now, told
		return s
	}
	look := func(seen, started time.Duration) task.Look {
		c := task.Look{Started: now.Add(-started), For: "os=linux", Card: "d8", Patience: patience}
		if seen >= 0 {
			c.Seen = now.Add(-seen)
		}
		return c
	}
	const never = time.Duration(-1)
	told := func(since, ask time.Duration, card string) task.NoWorker {
		return task.NoWorker{Since: now.Add(-since), For: "os=linux", AskTime: now.Add(ask), Card: card}
	}
	for name, c := range map[string]struct {
		from task.State
		look task.Look
		want task.NoWorker
		next time.Duration
	}{
		"nobody for two minutes":      {ready(2*time.Minute, task.NoWorker{}), look(never, time.Hour), told(2*time.Minute, 58*time.Minute, ""), 2 * time.Minute},
		"a worker is there":           {ready(time.Hour, task.NoWorker{}), look(0, 2*time.Hour), task.NoWorker{}, 2 * time.Minute},
		"one went a minute ago":       {ready(time.Hour, task.NoWorker{}), look(time.Minute, 2*time.Hour), task.NoWorker{}, time.Minute},
		"one went three minutes ago":  {ready(time.Hour, task.NoWorker{}), look(3*time.Minute, 2*time.Hour), told(3*time.Minute, 57*time.Minute, ""), 3 * time.Minute},
		"after a start it begins":     {ready(time.Hour, task.NoWorker{}), look(never, time.Minute), task.NoWorker{}, time.Minute},
		"a start takes nothing back":  {ready(time.Hour, told(30*time.Minute, 30*time.Minute, "")), look(never, time.Minute), told(30*time.Minute, 30*time.Minute, ""), 30 * time.Minute},
		"a worker takes it back":      {ready(time.Hour, told(30*time.Minute, 30*time.Minute, "")), look(0, 2*time.Hour), task.NoWorker{}, 2 * time.Minute},
		"a look is due when it asks":  {ready(time.Hour, told(40*time.Minute, 20*time.Minute, "")), look(never, 2*time.Hour), told(40*time.Minute, 20*time.Minute, ""), 20 * time.Minute},
		"after an hour it asks":       {ready(time.Hour, told(time.Hour, 0, "")), look(never, 2*time.Hour), told(time.Hour, 0, "d8"), time.Hour},
		"and not again":               {ready(3*time.Hour, told(3*time.Hour, -2*time.Hour, "d7")), look(never, 5*time.Hour), told(3*time.Hour, -2*time.Hour, "d7"), time.Hour},
		"a worker closes the card":    {ready(3*time.Hour, told(3*time.Hour, -2*time.Hour, "d7")), look(0, 5*time.Hour), task.NoWorker{}, 2 * time.Minute},
		"after a day it asks anew":    {ready(25*time.Hour, told(25*time.Hour, 0, "")), look(never, 30*time.Hour), told(25*time.Hour, 0, "d8"), time.Hour},
		"nobody, first seen too late": {ready(5*time.Hour, task.NoWorker{}), look(never, 9*time.Hour), told(5*time.Hour, -4*time.Hour, "d8"), time.Hour},
	} {
		got := step(t, c.from, c.look)
		if diff := cmp.Diff(c.want, got.NoWorker); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if next := got.NextLook().Sub(now); next != c.next {
			t.Errorf("%s: looked at again after %s, want %s", name, next, c.next)
		}
	}
	kept := step(t, ready(time.Hour, told(time.Hour, 0, "d8")), task.KeepWaiting{Again: patience.Again})
	if diff := cmp.Diff(told(time.Hour, 24*time.Hour, ""), kept.NoWorker); diff != "" {
		t.Errorf("told to wait (-want +got):\n%s", diff)
	}
}

// Waiting for a worker begins when a task becomes claimable, and ends with that.
func TestAttended(t *testing.T) {
	t.Parallel()
	for _, p := range task.Phases {
		for _, h := range task.Holds {
			s := at(p, h).Attended(patience, now)
			free := p == task.Ready && h == task.HoldNone
			if s.NextLook().Equal(now.Add(patience.Show)) != free || s.ReadyTime.Equal(now) != free {
				t.Errorf("%s held %s: looked at %v", p, h, s.NextLook())
			}
			waiting := at(p, h)
			waitsFor(&waiting)
			if again := waiting.Attended(patience, now); (again.NoWorker == waiting.NoWorker) != free || (again.ReadyTime == waiting.ReadyTime) != free {
				t.Errorf("%s held %s keeps %+v", p, h, again.NoWorker)
			}
		}
	}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	s := task.State{Labels: map[string]string{"os": "linux", "gpu": "a100"}}
	if got := s.Wanted("Builder"); got != "gpu=a100, os=linux" {
		t.Errorf("%q", got)
	}
	if got := (task.State{}).Wanted("Builder"); got != "Builder" {
		t.Errorf("%q", got)
	}
	s.Labels["note"] = strings.Repeat("ä", 400)
	if got := s.Wanted(""); len(got) > 240 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
