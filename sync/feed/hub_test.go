package feed_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/sync/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// woken reports whether a wake is there to be received.
func woken(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestHub_WakesWhoWaitsForTheTopic(t *testing.T) {
	t.Parallel()
	hub := feed.NewHub()
	a, both, b := hub.Subscribe("a"), hub.Subscribe("a", "b"), hub.Subscribe("b")
	hub.Wake("a", "nobody's")
	for _, test := range []struct {
		name string
		sub  *feed.Sub
		want bool
	}{{"a", a, true}, {"both", both, true}, {"b", b, false}} {
		if got := woken(test.sub.C()); got != test.want {
			t.Errorf("%s woken: %v, want %v", test.name, got, test.want)
		}
	}
	a.Close()
	hub.Wake("a")
	if woken(a.C()) || !woken(both.C()) {
		t.Error("a closed reader is woken, or an open one is not")
	}
	both.Close()
	b.Close()
	if n := hub.Topics(); n != 0 {
		t.Errorf("%d topics are kept for nobody", n)
	}
}

// However often it is woken before it looks, a reader holds one dirty bit.
func TestHub_OneDirtyBit(t *testing.T) {
	t.Parallel()
	hub := feed.NewHub()
	sub := hub.Subscribe("a", "b")
	defer sub.Close()
	for range 100 {
		hub.Wake("a", "b")
	}
	if !woken(sub.C()) || woken(sub.C()) {
		t.Error("a hundred wakes are not one")
	}
}

// A reader of many topics learns which of them to read again, once.
func TestHub_OneDirtyBitForEachTopic(t *testing.T) {
	t.Parallel()
	hub := feed.NewHub()
	topics := make([]string, 70)
	for i := range topics {
		topics[i] = fmt.Sprint(i)
	}
	topics[5] = "2" // one topic may stand twice
	sub := hub.Subscribe(topics...)
	defer sub.Close()
	for _, test := range []struct {
		wake []string
		want uint64
	}{
		{nil, 0},
		{[]string{"0", "0", "nobody's"}, 1},
		{[]string{"1", "2"}, 1<<1 | 1<<2 | 1<<5},
		{[]string{"69"}, 1 << 63},
		{nil, 0},
	} {
		hub.Wake(test.wake...)
		if got := sub.Take(); got != test.want {
			t.Errorf("after %v: %b, want %b", test.wake, got, test.want)
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		wait time.Duration
		// reads are what the reads say: "", "done" or "broken"; the last one is
		// said for ever.
		reads []string
		// wakes are when the topic is woken.
		wakes       []time.Duration
		cancel      time.Duration
		want        error
		wantReads   int
		wantElapsed time.Duration
	}{
		{name: "there already", wait: time.Minute, reads: []string{"done"}, wantReads: 1},
		{name: "no wait is one read", reads: []string{""}, wantReads: 1},
		{name: "an error ends it", wait: time.Minute, reads: []string{"broken"}, want: broken, wantReads: 1},
		{name: "a wake reads again", wait: time.Minute, reads: []string{"", "done"}, wakes: []time.Duration{time.Second}, wantReads: 2, wantElapsed: time.Second},
		{name: "a wake for nothing waits on", wait: time.Minute, reads: []string{"", "", "done"}, wakes: []time.Duration{time.Second, 3 * time.Second}, wantReads: 3, wantElapsed: 3 * time.Second},
		{name: "an error after a wake", wait: time.Minute, reads: []string{"", "broken"}, wakes: []time.Duration{time.Second}, want: broken, wantReads: 2, wantElapsed: time.Second},
		{name: "the end of the wait reads once more", wait: time.Minute, reads: []string{""}, wantReads: 2, wantElapsed: time.Minute},
		{name: "wakes do not lengthen the wait", wait: time.Minute, reads: []string{""}, wakes: []time.Duration{30 * time.Second}, wantReads: 3, wantElapsed: time.Minute},
		{name: "the caller leaves", wait: time.Minute, reads: []string{""}, cancel: time.Second, want: context.Canceled, wantReads: 1, wantElapsed: time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hub, start, reads := feed.NewHub(), time.Now(), 0
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancel > 0 {
					defer time.AfterFunc(test.cancel, cancel).Stop()
				}
				for _, at := range test.wakes {
					defer time.AfterFunc(at, func() { hub.Wake("other"); hub.Wake("topic") }).Stop()
				}
				err := hub.Tail(ctx, test.wait, []string{"topic"}, func() (bool, error) {
					say := test.reads[min(reads, len(test.reads)-1)]
					reads++
					if say == "broken" {
						return false, broken
					}
					return say == "done", nil
				})
				if !errors.Is(err, test.want) || (test.want == nil) != (err == nil) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				if elapsed := time.Since(start); reads != test.wantReads || elapsed != test.wantElapsed {
					t.Errorf("%d reads in %v, want %d in %v", reads, elapsed, test.wantReads, test.wantElapsed)
				}
				if n := hub.Topics(); n != 0 {
					t.Errorf("%d topics are kept for nobody", n)
				}
			})
		})
	}
}

// What is written between the read and the wait is not missed: the reader stood
// there before it read.
func TestTail_RegistersBeforeItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hub, start, reads := feed.NewHub(), time.Now(), 0
		err := hub.Tail(t.Context(), time.Hour, []string{"topic"}, func() (bool, error) {
			if reads++; reads == 1 {
				hub.Wake("topic") // committed right after this read's snapshot
			}
			return reads == 2, nil
		})
		if err != nil || time.Since(start) != 0 {
			t.Errorf("error %v after %v", err, time.Since(start))
		}
	})
}

// Many writers, many readers: nobody sleeps through the last write. On fake
// time a lost wake would show as an hour gone by.
func TestTail_NoLostWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const writers, writes, readers = 8, 200, 16
		hub, start := feed.NewHub(), time.Now()
		var counters [writers]atomic.Int64
		var group sync.WaitGroup
		for r := range readers {
			group.Go(func() {
				mine := &counters[r%writers]
				for seen := int64(0); seen < writes; {
					err := hub.Tail(t.Context(), time.Hour, []string{fmt.Sprint(r % writers), "all"}, func() (bool, error) {
						now := mine.Load()
						defer func() { seen = now }()
						return now > seen, nil
					})
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for w := range writers {
			group.Go(func() {
				for range writes {
					counters[w].Add(1)
					hub.Wake(fmt.Sprint(w))
				}
			})
		}
		group.Wait()
		if elapsed := time.Since(start); elapsed != 0 {
			t.Errorf("somebody waited %v", elapsed)
		}
		if n := hub.Topics(); n != 0 {
			t.Errorf("%d topics are kept for nobody", n)
		}
	})
}
