package task_test

import (
	"testing"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

func TestTimer_Due(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timer task.Timer
		want  bool
	}{
		"too early":   {task.Timer{At: now.Add(1)}, false},
		"this moment": {task.Timer{At: now}, true},
		"late":        {task.Timer{At: now.Add(-time.Hour)}, true},
		"fired":       {task.Timer{At: now.Add(-time.Hour), FireTime: now}, false},
	} {
		if got := c.timer.Due(now); got != c.want {
			t.Errorf("%s: due %v", name, got)
		}
	}
}

func TestTimer_Again(t *testing.T) {
	t.Parallel()
	span := task.Timer{At: now.Add(time.Minute), After: time.Minute, Data: []byte("d")}
	fixed := task.Timer{At: now.Add(time.Hour)}
	for name, c := range map[string]struct {
		set, asked task.Timer
		want       bool
	}{
		"a span, asked for later": {span, task.Timer{At: now.Add(time.Hour), After: time.Minute, Data: []byte("d")}, true},
		"another span":            {span, task.Timer{At: span.At, After: 2 * time.Minute, Data: []byte("d")}, false},
		"other data":              {span, task.Timer{At: span.At, After: time.Minute}, false},
		"a span made a time":      {span, task.Timer{At: span.At, Data: []byte("d")}, false},
		"a time":                  {fixed, task.Timer{At: now.Add(time.Hour)}, true},
		"another time":            {fixed, task.Timer{At: now.Add(time.Hour + 1)}, false},
		"a time made a span":      {fixed, task.Timer{At: fixed.At, After: time.Hour}, false},
	} {
		if got := c.set.Again(c.asked); got != c.want {
			t.Errorf("%s: again %v", name, got)
		}
	}
}
