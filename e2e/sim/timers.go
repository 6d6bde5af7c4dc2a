package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// timersAtOnce is how many timers a task may have; the story has more names.
const timersAtOnce = 2

// mTimer is a timer of a task. words are what it was set with: the same again
// are the same timer, fired or not.
type mTimer struct {
	at    time.Time
	words string
	data  string
	fired bool
}

// setting is one request for a timer: at a time, or after a span.
type setting struct {
	key, data string
	at        time.Time
	after     time.Duration
}

func (s setting) words() string {
	if s.after > 0 {
		return fmt.Sprintf("after %s %s", s.after, s.data)
	}
	return fmt.Sprintf("at %s %s", s.at.Format(time.RFC3339Nano), s.data)
}

// setTimer is what the holder of a lease hears.
func (m *model) setTimer(t *mTask, lease string, s setting) string {
	if !t.holds(lease) {
		return "LEASE_LOST"
	}
	have := t.timers[s.key]
	if have == nil && len(t.timers) >= timersAtOnce {
		return "QUOTA"
	}
	if have == nil || have.words != s.words() {
		have = &mTimer{at: s.at, words: s.words(), data: s.data}
		if s.after > 0 {
			have.at = m.now().Add(s.after)
		}
		t.timers[s.key] = have
	}
	return fmt.Sprintf("ok %s fired %v", have.at.Format(time.RFC3339Nano), have.fired)
}

// fire is the time of a timer: its task is told, and wakes if it waits for it.
func (m *model) fire(id string) {
	owner, key, _ := strings.Cut(id, "\x00")
	t := m.taskOf(owner)
	have := t.timers[key]
	if have == nil || have.fired || m.now().Before(have.at) {
		return
	}
	have.fired = true
	m.signal(t, mSignal{kind: task.TimerFired, text: key + have.data})
}

// keys lists the timers of a task.
func (t *mTask) keys() []string {
	var keys []string
	for key := range t.timers {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// setTimer sets a timer, with new words or with those of before.
func (w *world) setTimer(h hand) {
	s := setting{key: fmt.Sprintf("t%d", w.rand.IntN(timersAtOnce+1)), data: pick(w, []string{"a", "b"})}
	for n := range timersAtOnce + 1 { // at times one too many
		if key := fmt.Sprintf("t%d", n); h.task.timers[key] == nil && w.chance(2) {
			s.key = key
			break
		}
	}
	if w.chance(2) {
		s.after = pick(w, []time.Duration{time.Second, 5 * time.Second, time.Minute})
	} else {
		s.at = micro(w.now().Add(time.Duration(w.rand.IntN(60)-5) * time.Second))
		if have := h.task.timers[s.key]; have != nil && w.chance(2) {
			s.at, s.data = have.at, have.data
		}
	}
	cmd := app.SetTimer{Held: h.named, Key: s.key, At: s.at, After: s.after, Data: []byte(s.data)}
	w.with(h, "SetTimer", "R2", s.key+" "+s.words(), func() (string, error) {
		timer, err := w.app.SetTimer(w.ctx, h.principal, cmd)
		return fmt.Sprintf("ok %s fired %v", timer.At.Format(time.RFC3339Nano), timer.Fired()), err
	}, func() string { return w.model.setTimer(h.task, h.lease, s) }, nil)
}

// cancelTimer takes a timer away, or one that is not there.
func (w *world) cancelTimer(h hand) {
	key := fmt.Sprintf("t%d", w.rand.IntN(timersAtOnce+1))
	w.with(h, "CancelTimer", "R2", key, func() (string, error) {
		return "ok", w.app.CancelTimer(w.ctx, h.principal, app.CancelTimer{Held: h.named, Key: key})
	}, func() string {
		if !h.task.holds(h.lease) {
			return "LEASE_LOST"
		}
		delete(h.task.timers, key)
		return "ok"
	}, nil)
}

// checkTimers: R2. Timers are there until they are taken away or their task
// ends, and each says whether it has fired.
func (w *world) checkTimers(tx *store.Read, t *mTask) {
	timers, err := tx.Timers(t.id)
	w.must(err)
	var got, want []string
	for _, s := range timers {
		got = append(got, fmt.Sprintf("%s at %s %s fired %v", s.Key, s.At.Format(time.RFC3339Nano), s.Data, s.Fired()))
	}
	for _, key := range t.keys() {
		s := t.timers[key]
		want = append(want, fmt.Sprintf("%s at %s %s fired %v", key, s.at.Format(time.RFC3339Nano), s.data, s.fired))
	}
	if !slices.Equal(got, want) {
		w.failf("R2", "task %s has timers %v, want %v", t.id, got, want)
	}
}
