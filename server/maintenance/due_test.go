package maintenance_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/maintenance"
	"github.com/beckon-dev/beckon/sync/feed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verbs notes each look and answers with what the test set.
type verbs struct {
	mu    sync.Mutex
	looks int
	next  func(look int) (time.Time, error)
}

func (v *verbs) ProcessDue(context.Context) (time.Time, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.looks++
	return v.next(v.looks)
}

func (v *verbs) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.looks
}

// running starts the loop in a bubble and stops it at the end.
func running(t *testing.T, v *verbs) (*feed.Hub, func()) {
	t.Helper()
	hub := feed.NewHub()
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { maintenance.Due(ctx, v, hub, "due", slog.New(slog.DiscardHandler)) })
	synctest.Wait()
	return hub, func() { cancel(); done.Wait() }
}

func TestLooksWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		v := &verbs{next: func(look int) (time.Time, error) {
			if look == 1 {
				return began.Add(7 * time.Second), nil
			}
			return time.Time{}, nil
		}}
		_, stop := running(t, v)
		defer stop()
		expect(t, v, 1)
		advance(7*time.Second - time.Millisecond)
		expect(t, v, 1)
		advance(time.Millisecond)
		expect(t, v, 2)
		advance(29 * time.Second) // nothing is due: only the idle look comes
		expect(t, v, 2)
		advance(time.Second)
		expect(t, v, 3)
	})
}

func TestLooksWhenWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &verbs{next: func(int) (time.Time, error) { return time.Time{}, nil }}
		hub, stop := running(t, v)
		defer stop()
		hub.Wake("due")
		synctest.Wait()
		expect(t, v, 2)
		hub.Wake("other")
		synctest.Wait()
		expect(t, v, 2)
	})
}

func TestAFailureIsNoBusyLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &verbs{next: func(int) (time.Time, error) { return time.Unix(0, 0), errors.New("one row is broken") }}
		_, stop := running(t, v)
		defer stop()
		expect(t, v, 1)
		advance(10 * time.Second)
		expect(t, v, 11)
	})
}

func expect(t *testing.T, v *verbs, looks int) {
	t.Helper()
	if got := v.count(); got != looks {
		t.Fatalf("looked %d times, want %d", got, looks)
	}
}

func advance(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}
