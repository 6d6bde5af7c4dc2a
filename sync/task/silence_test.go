package task_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

// quiet is one silence as a story: each step is a command after a while.
type quiet struct {
	after time.Duration
	c     task.Command
	hush  task.Hush
	next  time.Duration // from then on; 0 where nobody looks any more
}

// Each silence leads to one reminder and one notice, and a word ends it.
func TestListen(t *testing.T) {
	t.Parallel()
	const span = 30 * time.Minute
	listen, speak := task.Listen{}, task.Speak{Lease: held}
	for name, story := range map[string][]quiet{
		"reminded, then told, then nothing": {
			{span, listen, task.HushReminded, span},
			{span, listen, task.HushTold, 0},
			{10 * span, listen, task.HushTold, 0},
		},
		"too early":               {{span - 1, listen, task.HushNone, 1}},
		"a word in time":          {{20 * time.Minute, speak, task.HushNone, 10 * time.Minute}, {10 * time.Minute, listen, task.HushNone, 20 * time.Minute}, {20 * time.Minute, listen, task.HushReminded, span}},
		"a word after a notice":   {{span, listen, task.HushReminded, span}, {span, listen, task.HushTold, 0}, {span, speak, task.HushNone, span}, {span, listen, task.HushReminded, span}},
		"a word after a reminder": {{span, listen, task.HushReminded, span}, {time.Second, speak, task.HushNone, span - time.Second}, {span - time.Second, listen, task.HushNone, time.Second}, {time.Second, listen, task.HushReminded, span}},
		"a heartbeat is no word":  {{20 * time.Minute, task.Heartbeat{Lease: held}, task.HushNone, 10 * time.Minute}, {10 * time.Minute, listen, task.HushReminded, span}},
		"the server was down":     {{span, task.Listen{Started: now.Add(span - time.Minute)}, task.HushNone, span - time.Minute}},
		"late, and a whole span":  {{3 * span, listen, task.HushReminded, span}},
		"claimed anew":            {{span, listen, task.HushReminded, span}, {time.Minute, task.Release{Lease: held}, task.HushReminded, 0}, {time.Hour, task.Claim{Lease: lease(other, "c2")}, task.HushNone, span}},
	} {
		s := at(task.Ready, task.HoldNone)
		s.SilenceAfter = span
		s = step(t, s, task.Claim{Lease: lease(held, "c1")})
		clock := now
		for i, q := range story {
			clock = clock.Add(q.after)
			events, err := task.Decide(s, q.c, clock)
			if err != nil {
				t.Fatalf("%s, step %d: %v", name, i, err)
			}
			s = task.ApplyAll(s, events, clock)
			next := time.Duration(0)
			if at := s.NextSilence(); !at.IsZero() {
				next = at.Sub(clock)
			}
			if s.Hush != q.hush || next != q.next {
				t.Errorf("%s, step %d: hush %d, looked at after %s; want %d after %s", name, i, s.Hush, next, q.hush, q.next)
			}
		}
	}
	// Chatter is noted at most once a second.
	s := at(task.Running, task.HoldNone)
	s.SilenceAfter, s.SpokeTime, s.SilenceLook = span, now, now.Add(span)
	if events, _ := task.Decide(s, speak, now.Add(time.Second-1)); len(events) != 0 {
		t.Errorf("a word right after a word: %v", events)
	}
}
