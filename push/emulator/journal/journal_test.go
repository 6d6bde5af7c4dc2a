package journal_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/journal"
)

type entry struct {
	N    int    `json:"n"`
	Text string `json:"text"`
}

func TestJournal_WritesOneLineAnEntry(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	j := journal.New[entry](&out, 0)
	j.Append(entry{1, "a<b"})
	j.Append(entry{2, "c"})
	want := "{\"n\":1,\"text\":\"a<b\"}\n{\"n\":2,\"text\":\"c\"}\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	if err := j.Err(); err != nil {
		t.Error(err)
	}
}

func TestJournal_KeepsTheNewestAndCountsAll(t *testing.T) {
	t.Parallel()
	j := journal.New[int](nil, 3)
	for n := range 10 {
		j.Append(n)
	}
	all := j.All()
	if len(all) < 3 || len(all) >= 6 || all[len(all)-1] != 9 {
		t.Errorf("kept %v, want at least the newest 3 and fewer than 6", all)
	}
	if j.Len() != 10 {
		t.Errorf("Len = %d, want 10", j.Len())
	}
	got, next, err := j.Next(t.Context(), 0)
	if err != nil || got != all[0] || next != all[0]+1 {
		t.Errorf("Next(0) = %d, %d, %v; want the oldest kept, %d", got, next, err, all[0])
	}
}

func TestJournal_WaitersWakeOnAppend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := journal.New[int](nil, 0)
		found := make(chan int, 1)
		go func() {
			n, err := j.Find(t.Context(), func(n int) bool { return n > 1 })
			if err != nil {
				t.Error(err)
			}
			found <- n
		}()
		j.Append(1)
		synctest.Wait()
		if len(found) != 0 {
			t.Fatal("Find returned before a match")
		}
		j.Append(2)
		if n := <-found; n != 2 {
			t.Errorf("Find = %d, want 2", n)
		}
	})
}

func TestJournal_WaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := journal.New[int](nil, 0)
		j.Append(7)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := j.Wait(ctx, 2)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want deadline exceeded", err)
		}
		if diff := cmp.Diff([]int{7}, got); diff != "" {
			t.Error(diff)
		}
		if _, next, err := j.Next(ctx, 1); next != 1 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next = %d, %v; want 1 and deadline exceeded", next, err)
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestJournal_BrokenWriterIsToldAndMemoryGoesOn(t *testing.T) {
	t.Parallel()
	j := journal.New[int](brokenWriter{}, 0)
	j.Append(1)
	j.Append(2)
	if j.Err() == nil {
		t.Error("Err = nil, want the writer's error")
	}
	if diff := cmp.Diff([]int{1, 2}, j.All()); diff != "" {
		t.Error(diff)
	}
}
