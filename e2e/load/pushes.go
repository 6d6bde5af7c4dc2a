package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
)

// Distance is how far away the vendor is.
type Distance struct {
	Name  string
	Delay time.Duration
}

// Distances are those in the table.
func Distances() []Distance {
	return []Distance{{"near", 0}, {"provider answers after 50 ms", 50 * time.Millisecond}}
}

// questionsPerTask stays below what a task may have open.
const questionsPerTask = 20

// Drain fills an outbox with n pushes while nothing sends, lets go, and
// measures until every verdict is stored. Neighbours in the outbox are of
// different accounts.
func Drain(ctx context.Context, folder string, s Sizes, d Distance, n int) (Result, error) {
	w, err := openPushes(ctx, folder, s, d)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	if err := w.fill(ctx, n); err != nil {
		return Result{}, fmt.Errorf("filling: %w", err)
	}
	if err := w.warm(); err != nil {
		return Result{}, err
	}
	span := w.measure(ctx)
	w.run(ctx)
	if _, err := w.phones.do(order{Op: "wait", N: n}); err != nil {
		return Result{}, err
	}
	if err := w.settled(ctx); err != nil {
		return Result{}, err
	}
	r := span.end(fmt.Sprintf("durable backlog of %d pushes to the APNs emulator, %s", n, d.Name), n)
	got, err := w.check(ctx, n)
	r.Other = got.Used / time.Duration(n)
	return r, err
}

// Steady asks at a rate and measures from the transaction of the question, its
// own sync included, to the moment the emulator has the whole request.
func Steady(ctx context.Context, folder string, s Sizes, d Distance) (Result, error) {
	w, err := openPushes(ctx, folder, s, d)
	if err != nil {
		return Result{}, err
	}
	defer w.close()
	if err := w.warm(); err != nil {
		return Result{}, err
	}
	w.run(ctx)
	if err := w.quiet(ctx, s.Accounts); err != nil {
		return Result{}, err
	}
	n := s.Rate * int(s.Length.Seconds())
	span := w.measure(ctx)
	asked, err := w.pace(ctx, n, s.Rate)
	if err != nil {
		return Result{}, err
	}
	if _, err := w.phones.do(order{Op: "wait", N: n}); err != nil {
		return Result{}, err
	}
	if err := w.settled(ctx); err != nil {
		return Result{}, err
	}
	r := span.end(fmt.Sprintf("question to accepted push at %d/s, %s", s.Rate, d.Name), n)
	got, err := w.check(ctx, n)
	if err != nil {
		return r, err
	}
	r.Other = got.Used / time.Duration(n)
	took := make([]time.Duration, 0, n)
	for id, at := range asked {
		accepted, ok := got.First[id]
		if !ok {
			return r, errors.New("a question was asked and no push names it")
		}
		took = append(took, accepted.Sub(at))
	}
	r.P50, r.P99 = Percentile(took, 0.5), Percentile(took, 0.99)
	return r, nil
}

// pushes is a place with phones far or near.
type pushes struct {
	*place

	phones *emulator
}

func openPushes(ctx context.Context, folder string, s Sizes, d Distance) (*pushes, error) {
	phones, err := startEmulator(ctx, s.Accounts)
	if err != nil {
		return nil, err
	}
	if _, err := phones.do(order{Op: "delay", Delay: d.Delay}); err != nil {
		return nil, errors.Join(err, phones.close())
	}
	rig, err := openRig(ctx, filepath.Clean(folder), phones, s.Senders)
	if err != nil {
		return nil, errors.Join(err, phones.close())
	}
	p, err := rig.settle(ctx, s.Accounts, true)
	if err == nil {
		err = p.begin(ctx, "work")
	}
	if err != nil {
		rig.close()
		return nil, errors.Join(err, phones.close())
	}
	return &pushes{place: p, phones: phones}, nil
}

// close ends server and emulator; what could have gone wrong by then has been
// looked at.
func (w *pushes) close() {
	w.place.close()
	_ = w.phones.close()
}

// warm starts the count of the emulator.
func (w *pushes) warm() error {
	_, err := w.phones.do(order{Op: "reset"})
	return err
}

// fill asks n questions, account by account.
func (w *pushes) fill(ctx context.Context, n int) error {
	if n > len(w.people)*questionsPerTask {
		return fmt.Errorf("%d pushes are too many for %d accounts", n, len(w.people))
	}
	return each(n, crowd, func(i int) error {
		_, err := w.ask(ctx, w.people[i%len(w.people)], fmt.Sprintf("q%d", i))
		return err
	})
}

// pace asks n questions at a rate, whether or not earlier ones are done, and
// returns when each was written.
func (w *pushes) pace(ctx context.Context, n, rate int) (map[string]time.Time, error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	asked := make(map[string]time.Time, n)
	err := paced(ctx, n, rate, func(i int) {
		all.Go(func() {
			d, err := w.ask(ctx, w.people[i%len(w.people)], fmt.Sprintf("q%d", i))
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
			asked[d.ID] = d.CreateTime
		})
	})
	all.Wait()
	return asked, errors.Join(err, failed)
}

// settled waits until no row needs anybody any more.
func (w *pushes) settled(ctx context.Context) error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		_, waiting, err := w.app.Outbox().NextDue(ctx, string(push.KindAPNs))
		if err != nil || !waiting {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// check holds the emulator's log and the outbox against what was asked: n
// pushes, each once, each stored as accepted.
func (w *pushes) check(ctx context.Context, n int) (seen, error) {
	got, err := w.phones.do(order{Op: "report"})
	if err != nil {
		return got, err
	}
	if got.Lost || got.Accepted != n || got.Distinct != n || got.Refused != 0 {
		return got, fmt.Errorf("the emulator took %d pushes (%d different) and refused %d (%s), want %d once each",
			got.Accepted, got.Distinct, got.Refused, got.Reason, n)
	}
	st, err := store.Open(ctx, w.engine, store.Config{})
	if err != nil {
		return got, err
	}
	accepted := 0
	for _, p := range w.people {
		err := st.View(ctx, p.device.Account, func(tx *store.Read) error {
			rows, err := tx.Deliveries()
			for _, d := range rows {
				if d.State == push.Accepted && d.Attempt <= 1 {
					accepted++
				}
			}
			return err
		})
		if err != nil {
			return got, err
		}
	}
	if accepted != n {
		return got, fmt.Errorf("the outbox has %d rows accepted at the first try, want %d", accepted, n)
	}
	return got, nil
}

// paced calls fn n times at a rate. A slow machine calls late, never less.
func paced(ctx context.Context, n, rate int, fn func(i int)) error {
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	start := time.Now()
	for i := 0; i < n; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for due := int(time.Since(start).Seconds() * float64(rate)); i < min(due, n); i++ {
			fn(i)
		}
	}
	return nil
}
