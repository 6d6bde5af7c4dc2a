package task_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/task"
)

// life is one task and what an onlooker, who only counts, believes of it.
type life struct {
	s       task.State
	leases  int
	lost    int // in a row
	elapsed time.Duration
}

func (l *life) now() time.Time { return now.Add(l.elapsed) }

// do gives a command and checks that deciding changed nothing by itself.
func (l *life) do(t *rapid.T, c task.Command) error {
	before := l.s
	events, err := task.Decide(l.s, c, l.now())
	if diff := cmp.Diff(before, l.s); diff != "" {
		t.Fatalf("%T: Decide changed the state:\n%s", c, diff)
	}
	if err != nil && len(events) > 0 {
		t.Fatalf("%T: events %v beside error %v", c, events, err)
	}
	l.s = task.ApplyAll(l.s, events, l.now())
	if err != nil || before.Phase.Terminal() {
		// R7: no end is ever changed; R3: a refusal changes nothing.
		if diff := cmp.Diff(before, l.s); diff != "" {
			t.Fatalf("%T in %s, error %v, changed:\n%s", c, before.Phase, err, diff)
		}
	}
	if len(events) > 0 {
		wellFormed(t, before, l.s)
	}
	return err
}

func (l *life) lease() task.Lease {
	l.leases++
	return lease(fmt.Sprint("lease-", l.leases), fmt.Sprint("claim-", l.leases))
}

func born(t *rapid.T) *life {
	l := &life{}
	fresh := task.State{ID: "tsk_1", MaxAttempts: rapid.IntRange(1, 7).Draw(t, "max attempts")}
	var first task.Lease
	if rapid.Bool().Draw(t, "born claimed") {
		first = l.lease()
	}
	l.s = task.Create(fresh, first, now)
	return l
}

// waits are sets to sleep for.
func waits() *rapid.Generator[task.Wait] {
	return rapid.SampledFrom([]task.Wait{
		{Mode: task.Any, Decisions: []string{"d1"}},
		{Mode: task.All, Decisions: []string{"d1", "d2"}},
		{Mode: task.Any, Until: now.Add(time.Hour)},
	})
}

// underLease are the commands that only the holder may give.
func underLease(t *rapid.T, s task.State, lease string) task.Command {
	return rapid.SampledFrom([]task.Command{
		task.Heartbeat{Lease: lease},
		task.SaveCheckpoint{Lease: lease, Expected: s.Checkpoint},
		task.Ack{Lease: lease},
		task.UpdateProgress{Lease: lease, Progress: task.Progress{Text: "on it"}},
		task.Yield{Lease: lease, Wait: waits().Draw(t, "wait"), Satisfied: rapid.Bool().Draw(t, "satisfied"), Unacked: rapid.Bool().Draw(t, "unacked")},
		task.Release{Lease: lease},
		task.Complete{Lease: lease, Result: &task.Result{Summary: "done"}},
		task.Fail{Lease: lease, Failure: task.Failure{Code: "x"}},
	}).Draw(t, "command")
}

// actions are everything that can happen, each with the rule it is held to.
func (l *life) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"claim": func(t *rapid.T) { // R1
			free := l.s.Phase == task.Ready && l.s.Hold.Kind == task.HoldNone
			c := task.Claim{Lease: l.lease()}
			if err := l.do(t, c); (err == nil) != free || free && l.s.Lease != c.Lease {
				t.Fatalf("claim of %s held %s: %v, lease %v", l.s.Phase, l.s.Hold.Kind, err, l.s.Lease)
			}
		},
		"claim again": func(t *rapid.T) { // R3
			if l.s.Phase != task.Running {
				t.Skip()
			}
			was := l.s.Lease
			if err := l.do(t, task.Claim{Lease: lease("another", was.ClaimID)}); err != nil || l.s.Lease.ID != was.ID {
				t.Fatalf("repeated claim: %v, lease %v", err, l.s.Lease)
			}
		},
		"work": func(t *rapid.T) { // R4
			if l.s.Phase != task.Running {
				t.Skip()
			}
			c := underLease(t, l.s, l.s.Lease.ID)
			if err := l.do(t, c); err != nil {
				t.Fatalf("%T by the holder: %v", c, err)
			}
			switch c.(type) {
			case task.SaveCheckpoint, task.Ack, task.Yield, task.Release:
				l.lost = 0
			}
		},
		"work under another lease": func(t *rapid.T) { // R3
			if err := l.do(t, underLease(t, l.s, "stranger")); !errors.Is(err, task.ErrLeaseLost) {
				t.Fatalf("a stranger's lease: %v", err)
			}
		},
		"lease of nobody": func(t *rapid.T) {
			if err := l.do(t, underLease(t, l.s, "")); !errors.Is(err, task.ErrLeaseLost) {
				t.Fatalf("no lease at all: %v", err)
			}
		},
		"worker dies": func(t *rapid.T) { l.die(t) },
		"old lease ends": func(t *rapid.T) {
			before := l.s
			if err := l.do(t, task.LoseLease{Lease: "stranger"}); err != nil || !cmp.Equal(before, l.s) {
				t.Fatalf("the end of a stranger's lease did something: %v", err)
			}
		},
		"wake": func(t *rapid.T) {
			was := l.s.Phase
			c := task.Wake{Satisfied: rapid.Bool().Draw(t, "satisfied"), Waking: rapid.Bool().Draw(t, "waking")}
			err := l.do(t, c)
			if woken := was == task.Waiting && (c.Satisfied || c.Waking); err != nil || woken != (was != l.s.Phase) {
				t.Fatalf("%+v in %s: %v, now %s", c, was, err, l.s.Phase)
			}
		},
		"hold": func(t *rapid.T) {
			if l.s.Phase.Terminal() || l.s.Hold.Kind == task.HoldStop {
				t.Skip() // a stop is not lifted
			}
			kind := rapid.SampledFrom([]task.HoldKind{task.HoldNone, task.HoldPause, task.HoldReview}).Draw(t, "hold")
			was := l.s.Phase
			if l.s = task.Apply(l.s, task.Held{Hold: task.Hold{Kind: kind}}); l.s.Phase != was {
				t.Fatalf("a hold moved the phase from %s to %s", was, l.s.Phase)
			}
		},
		"stop": func(t *rapid.T) {
			if rapid.IntRange(0, 4).Draw(t, "often") > 0 {
				t.Skip() // or no life is long
			}
			l.stop(t)
		},
		"time": func(*rapid.T) { l.elapsed += time.Minute },
	}
}

// die is R4: what is counted, what is not, and when it is too much.
func (l *life) die(t *rapid.T) {
	if l.s.Phase != task.Running {
		t.Skip()
	}
	var pending []string
	if rapid.Bool().Draw(t, "asked") {
		pending = []string{"d1"}
	}
	stopping, unheard := l.s.Hold.Kind == task.HoldStop, rapid.Bool().Draw(t, "unheard")
	if err := l.do(t, task.LoseLease{Lease: l.s.Lease.ID, Pending: pending, Unacked: unheard}); err != nil {
		t.Fatal(err)
	}
	want, again := task.Ready, time.Duration(0)
	switch {
	case stopping:
		want = task.Canceled
	case pending != nil && l.s.MaxAttempts > 1 && !unheard:
		want = task.Waiting
	default:
		if l.lost++; l.lost >= l.s.MaxAttempts {
			want = task.Failed
		} else if again = task.RetryDelay(l.lost); again > 0 {
			want = task.Waiting
		}
	}
	if l.s.Phase != want {
		t.Fatalf("after %d lost leases of %d, asked %v: %s, want %s", l.lost, l.s.MaxAttempts, pending, l.s.Phase, want)
	}
	retry := time.Time{}
	if again > 0 {
		retry = l.now().Add(again)
	}
	if !l.s.RetryTime().Equal(retry) {
		t.Fatalf("after %d lost leases it is tried again at %v, want %v", l.lost, l.s.RetryTime(), retry)
	}
	if want == task.Failed && l.s.Failure.Code != task.CouldNotResume {
		t.Fatalf("failed with %q", l.s.Failure.Code)
	}
}

// stop is R7: at once without a lease, else a hold that the next end obeys.
func (l *life) stop(t *rapid.T) {
	was := l.s.Phase
	if err := l.do(t, task.Stop{By: "me"}); err != nil {
		t.Fatal(err)
	}
	switch {
	case was.Terminal():
	case was != task.Running && l.s.Phase != task.Canceled:
		t.Fatalf("stop in %s leads to %s", was, l.s.Phase)
	case was == task.Running && (l.s.Phase != task.Running || l.s.Hold.Kind != task.HoldStop):
		t.Fatalf("stop while running leads to %s held %s", l.s.Phase, l.s.Hold.Kind)
	}
}

// R1, R3, R4, R7 over whole lives.
func TestTask_Lives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := born(t)
		actions := l.actions()
		actions[""] = func(t *rapid.T) {
			if !l.s.Phase.Terminal() && l.s.Attempts != l.lost {
				t.Fatalf("%d attempts, %d leases lost in a row", l.s.Attempts, l.lost)
			}
		}
		t.Repeat(actions)

		// R7: from wherever this life got to, a stop and the next thing the
		// worker does to its lease are the end.
		l.stop(t)
		if l.s.Phase != task.Running {
			return
		}
		ends := map[string]struct {
			command task.Command
			want    task.Phase
		}{
			"yield":    {task.Yield{Lease: l.s.Lease.ID, Wait: waits().Draw(t, "wait")}, task.Canceled},
			"release":  {task.Release{Lease: l.s.Lease.ID}, task.Canceled},
			"lost":     {task.LoseLease{Lease: l.s.Lease.ID, Pending: []string{"d1"}}, task.Canceled},
			"complete": {task.Complete{Lease: l.s.Lease.ID}, task.Completed},
			"fail":     {task.Fail{Lease: l.s.Lease.ID}, task.Failed},
			"cancel":   {task.Cancel{By: "me"}, task.Canceled},
		}
		end := ends[rapid.SampledFrom([]string{"yield", "release", "lost", "complete", "fail", "cancel"}).Draw(t, "end")]
		if err := l.do(t, end.command); err != nil || l.s.Phase != end.want {
			t.Fatalf("%T after a stop: %v, %s, want %s", end.command, err, l.s.Phase, end.want)
		}
	})
}
