package worker

import (
	"context"
	"time"
)

const (
	// claimPause is the wait after the store failed.
	claimPause = time.Second
	// idleFloor keeps a lane from spinning on a row that is due but cannot be
	// claimed.
	idleFloor = 5 * time.Millisecond
)

// dispatch claims rows whenever senders are free and rows may be due.
func (w *Worker) dispatch(ctx context.Context) {
	busy := 0
	for ctx.Err() == nil {
		busy -= w.drainFreed()
		circuit := w.Circuit()
		n := min(circuit.Allowance(time.Now(), w.Senders-busy, busy), w.Batch)
		if n == 0 {
			pause := time.Duration(-1)
			if now := time.Now(); now.Before(circuit.OpenUntil) {
				pause = circuit.OpenUntil.Sub(now)
			}
			busy -= w.waitFreed(ctx, pause)
			continue
		}
		// A few more milliseconds make a batch of what would be many claims.
		if circuit.Closed() && busy > 0 && n < min(w.Senders/2, w.Batch) {
			if more := w.waitFreed(ctx, w.Linger); more > 0 {
				busy -= more
				continue
			}
		}
		rows, err := w.Queue.Claim(ctx, w.Lane, n, w.Lease)
		if err != nil {
			if ctx.Err() == nil {
				w.Log.Error("claiming deliveries", "lane", w.Lane, "error", err)
				w.pause(ctx, claimPause)
			}
			continue
		}
		if len(rows) > 0 && w.Hooks.Claimed != nil {
			w.Hooks.Claimed()
		}
		for _, d := range rows {
			busy++
			w.open.Add(1)
			w.work <- item{delivery: d, probe: !circuit.Closed()}
		}
		if len(rows) < n {
			w.idle(ctx)
		}
	}
}

// drainFreed counts the senders that became free since the last look.
func (w *Worker) drainFreed() int {
	for n := 0; ; n++ {
		select {
		case <-w.freed:
		default:
			return n
		}
	}
}

// waitFreed waits for a sender to become free, for the pause (a negative one is
// endless) or for the end, and returns how many are free now.
func (w *Worker) waitFreed(ctx context.Context, pause time.Duration) int {
	var over <-chan time.Time
	if pause >= 0 {
		t := time.NewTimer(pause)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-w.freed:
		return 1 + w.drainFreed()
	case <-over:
	case <-ctx.Done():
	}
	return 0
}

// idle sleeps until rows may be due.
func (w *Worker) idle(ctx context.Context) {
	wait := w.IdleCap
	due, ok, err := w.Queue.NextDue(ctx, w.Lane)
	switch {
	case err != nil && ctx.Err() == nil:
		w.Log.Error("reading the next due delivery", "lane", w.Lane, "error", err)
		wait = claimPause
	case ok:
		wait = min(wait, max(time.Until(due), idleFloor))
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-w.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// pause waits regardless of wakes.
func (w *Worker) pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
