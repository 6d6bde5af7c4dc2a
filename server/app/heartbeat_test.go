package app_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

type beat struct {
	app.HeartbeatResult
	err   error
	after time.Duration
}

// beat sends a heartbeat in the background.
func (h *harness) beat(ctx context.Context, c app.Heartbeat) <-chan beat {
	out := make(chan beat, 1)
	began := time.Now()
	go func() {
		r, err := h.app.Heartbeat(ctx, h.agent, c)
		out <- beat{r, err, time.Since(began)}
	}()
	return out
}

func TestHeartbeat_ExtendsTheLease(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	w := h.watch(s.Thread)
	for range 3 {
		h.clock.Advance(20 * time.Second)
		r, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
		check(t, err)
		if want := h.clock.Now().Add(30 * time.Second); !r.Until.Equal(want) || !h.task(s.ID).Lease.Until.Equal(want) {
			t.Errorf("the lease ends at %v, want %v", r.Until, want)
		}
		h.due()
	}
	w.expect("heartbeats without news", effects{Commits: 3})
	h.clock.Advance(30 * time.Second)
	h.due()
	_, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
	sameError(t, err, task.ErrLeaseLost)
}

// R7: a stop is heard at once, whatever else would be.
func TestHeartbeat_WaitHearsNews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		news func(h *harness, s task.State, d decision.State)
		hold task.HoldKind
		want []task.SignalKind
	}{
		"a stop": {func(h *harness, s task.State, _ decision.State) {
			_, err := h.app.StopTask(context.Background(), h.phone.Principal, app.StopTask{Key: "k", Task: s.ID, Reason: "enough"})
			check(h.t, err)
		}, task.HoldStop, nil},
		"a message": {func(h *harness, s task.State, _ decision.State) { h.say(s.Thread, "hello") }, task.HoldNone, []task.SignalKind{task.Message}},
		"an answer": {func(h *harness, _ task.State, d decision.State) { h.answer(h.phone, d, "deny") }, task.HoldNone, []task.SignalKind{task.DecisionClosed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				s, held := h.startTask("one")
				d := h.ask(held, "write", decision.WriteReversible)
				h.say(s.Thread, "seen before")
				got := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: 15 * time.Second, Above: 1})
				synctest.Wait()
				c.news(h, s, d)
				r := <-got
				check(t, r.err)
				if r.after != 0 || r.Hold.Kind != c.hold || len(r.Signals) != len(c.want) {
					t.Errorf("after %v: hold %v, %d signals", r.after, r.Hold.Kind, len(r.Signals))
				}
				for i, k := range c.want {
					if r.Signals[i].Kind != k || (k == task.DecisionClosed) != (r.Signals[i].About != nil) {
						t.Errorf("signal %d is %+v", i, r.Signals[i])
					}
				}
			})
		})
	}
}

func TestHeartbeat_WaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		_, held := h.startTask("one")
		// The next one has to come in time: never past two thirds of the lease.
		r := <-h.beat(t.Context(), app.Heartbeat{Held: held, Wait: time.Hour})
		if r.err != nil || r.after != 20*time.Second || r.Hold.Kind != task.HoldNone || len(r.Signals) != 0 {
			t.Errorf("after %v: %+v, %v", r.after, r.HeartbeatResult, r.err)
		}
		got := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: 15 * time.Second})
		synctest.Wait()
		_, err := h.app.ReleaseTask(t.Context(), h.agent, held)
		check(t, err)
		if r := <-got; r.after != 0 {
			t.Errorf("a heartbeat outlived its lease by %v", r.after)
		} else {
			sameError(t, r.err, task.ErrLeaseLost)
		}
	})
}

// A worker that has heard of the stop and takes its time waits for the next
// news, instead of being told the same without end.
func TestHeartbeat_WaitsPastAKnownHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("one")
		h.stop("k", s.ID)
		got := h.beat(t.Context(), app.Heartbeat{Held: held, Wait: 15 * time.Second, Known: task.HoldStop})
		if r := <-got; r.err != nil || r.after != 15*time.Second || r.Hold.Kind != task.HoldStop {
			t.Errorf("after %v: %+v, %v", r.after, r.HeartbeatResult, r.err)
		}
	})
}
