package feed_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/feed"
)

func anybody(map[string]string) bool { return true }

func labels(os string) map[string]string { return map[string]string{"os": os} }

// queue is one with some workers of an agent in line, in their order of coming.
type queue struct {
	*feed.Queue
	names []string
	in    map[string]*feed.Waiter
}

func line(names ...string) *queue {
	q := &queue{Queue: feed.NewQueue(), names: names, in: map[string]*feed.Waiter{}}
	for _, n := range names {
		q.in[n] = q.Join("agent", nil)
	}
	return q
}

// woken takes the wakes there are and names who had one.
func (q *queue) woken() []string {
	var out []string
	for _, n := range q.names {
		if woken(q.in[n].C()) {
			out = append(out, n)
		}
	}
	return out
}

func TestQueue_WakesTheLongestIdle(t *testing.T) {
	t.Parallel()
	q := line("first", "second", "third")
	for i, want := range [][]string{{"first"}, {"second"}, {"third"}, nil} {
		q.Offer("agent", anybody)
		if diff := cmp.Diff(want, q.woken()); diff != "" {
			t.Errorf("offer %d wakes (-want +got):\n%s", i, diff)
		}
	}
	// Who found nothing lines up behind those who came meanwhile.
	for _, n := range []string{"second", "first", "third"} {
		q.in[n].Again(nil)
	}
	for i, want := range [][]string{{"second"}, {"first"}, {"third"}, nil} {
		q.Offer("agent", anybody)
		if diff := cmp.Diff(want, q.woken()); diff != "" {
			t.Errorf("offer %d after lining up again wakes (-want +got):\n%s", i, diff)
		}
	}
}

func TestQueue_AgainWhileInLineKeepsThePlace(t *testing.T) {
	t.Parallel()
	q := line("first", "second")
	q.in["first"].Again(nil)
	q.Offer("agent", anybody)
	q.Offer("agent", anybody)
	if diff := cmp.Diff([]string{"first", "second"}, q.woken()); diff != "" {
		t.Errorf("woken (-want +got):\n%s", diff)
	}
}

// A worker that lines up again before it took its wake holds that wake; an
// offer must neither block on it nor be spent on it.
func TestQueue_AgainWithAWakeUntaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := line("first", "second")
		q.Offer("agent", anybody)
		q.in["first"].Again(nil)
		done := make(chan struct{})
		go func() {
			defer close(done)
			q.Offer("agent", anybody)
			q.Offer("agent", anybody)
		}()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("an offer blocks the queue")
			woken(q.in["first"].C()) // let it go
			<-done
		}
		if diff := cmp.Diff([]string{"first", "second"}, q.woken()); diff != "" {
			t.Errorf("woken (-want +got):\n%s", diff)
		}
	})
}

func TestQueue_Leave(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		do   func(*queue)
		want []string
	}{
		{"out of line", func(q *queue) { q.in["first"].Leave(); q.Offer("agent", anybody) }, []string{"second"}},
		{"from the middle", func(q *queue) {
			q.in["second"].Leave()
			q.Offer("agent", anybody)
			q.Offer("agent", anybody)
		}, []string{"first", "third"}},
		{"with an unused wake, which goes on", func(q *queue) { q.Offer("agent", anybody); q.in["first"].Leave() }, []string{"second"}},
		{"one after the other", func(q *queue) {
			q.Offer("agent", anybody)
			q.in["first"].Leave()
			q.in["second"].Leave()
		}, []string{"third"}},
		{"with a used wake", func(q *queue) { q.Offer("agent", anybody); q.woken(); q.in["first"].Leave() }, nil},
		{"in line again, with nothing in hand", func(q *queue) {
			q.Offer("agent", anybody)
			q.woken()
			q.in["first"].Again(nil)
			q.in["first"].Leave()
		}, nil},
		{"twice", func(q *queue) { q.Offer("agent", anybody); q.in["first"].Leave(); q.in["first"].Leave() }, []string{"second"}},
		{"all of them, with a wake nobody is left for", func(q *queue) {
			q.Offer("agent", anybody)
			for _, n := range q.names {
				q.in[n].Leave()
			}
		}, nil},
		{"a wake that was taken and could not be used is passed on", func(q *queue) {
			q.Offer("agent", anybody)
			q.woken()
			q.in["first"].Pass()
			q.in["first"].Leave()
		}, []string{"second"}},
		{"passed on by one who lined up again", func(q *queue) {
			q.Offer("agent", anybody)
			q.woken()
			q.in["first"].Again(nil)
			q.in["first"].Pass()
			q.in["first"].Leave()
		}, []string{"second"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := line("first", "second", "third")
			test.do(q)
			if diff := cmp.Diff(test.want, q.woken()); diff != "" {
				t.Errorf("woken (-want +got):\n%s", diff)
			}
			for _, n := range q.names {
				q.in[n].Leave()
			}
			if n := q.Agents(); n != 0 {
				t.Errorf("%d lines are kept for nobody", n)
			}
		})
	}
}

// One worker of every label set that may have the task, of that agent alone.
func TestQueue_LabelSets(t *testing.T) {
	t.Parallel()
	q := &queue{Queue: feed.NewQueue(), names: []string{"linux", "linux2", "mac", "none", "more", "stranger"}}
	q.in = map[string]*feed.Waiter{
		"linux": q.Join("agent", labels("linux")), "linux2": q.Join("agent", labels("linux")), "mac": q.Join("agent", labels("mac")),
		"none": q.Join("agent", nil), "more": q.Join("agent", map[string]string{"os": "linux", "gpu": "yes"}),
		"stranger": q.Join("other", labels("linux")),
	}
	linux := func(worker map[string]string) bool { return worker["os"] == "linux" }
	for _, test := range []struct {
		agent string
		may   func(map[string]string) bool
		want  []string
	}{
		{"agent", linux, []string{"linux", "more"}},
		{"agent", linux, []string{"linux2"}},
		{"agent", linux, nil},
		{"agent", anybody, []string{"mac", "none"}},
		{"nobody", anybody, nil},
		{"other", anybody, []string{"stranger"}},
	} {
		q.Offer(test.agent, test.may)
		if diff := cmp.Diff(test.want, q.woken()); diff != "" {
			t.Errorf("offer to %s wakes (-want +got):\n%s", test.agent, diff)
		}
	}
}

// desk is where tasks lie that workers come to take.
type desk struct {
	mu    sync.Mutex
	tasks int
}

func (d *desk) put(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n < 0 && d.tasks == 0 {
		return 0
	}
	d.tasks += n
	return max(n, -n)
}

// work is what a worker does for one call: look, wait, line up, look again.
func work(ctx context.Context, q *feed.Queue, d *desk, set string) (taken bool) {
	w := q.Join("agent", labels(set))
	defer w.Leave()
	for {
		if d.put(-1) == 1 {
			return true
		}
		select {
		case <-w.C():
			w.Again(labels(set))
		case <-ctx.Done():
			return false
		}
	}
}

// Workers come and go while tasks arrive: every task is taken, and no time
// passes, since no wake gets lost.
func TestQueue_NoLostWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const tasks, loyal, restless = 2000, 4, 12
		q, d, start := feed.NewQueue(), &desk{}, time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{}, tasks)
		var group sync.WaitGroup
		for i := range loyal + restless {
			group.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					call, leave := context.WithCancel(ctx)
					if i >= loyal && n < 500 {
						go leave() // at any moment of the call
					}
					if work(call, q, d, fmt.Sprint(i%3)) {
						done <- struct{}{}
					}
					leave()
				}
			})
		}
		for range tasks {
			d.put(1)
			q.Offer("agent", anybody)
		}
		for range tasks {
			select {
			case <-done:
			case <-time.After(time.Hour):
				t.Fatal("a task lies there and nobody looks")
			}
		}
		cancel()
		group.Wait()
		if elapsed := time.Since(start); elapsed != 0 {
			t.Errorf("somebody waited %v", elapsed)
		}
		if n := q.Agents(); n != 0 {
			t.Errorf("%d lines are kept for nobody", n)
		}
	})
}
