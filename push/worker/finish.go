package worker

import (
	"context"
	"time"
)

const (
	// finishPause is the wait between tries to store results.
	finishPause = 200 * time.Millisecond
	// finishTriesStopping bounds the tries once the worker was told to stop;
	// what cannot be stored then is sent again after its lease.
	finishTriesStopping = 3
)

// finishLoop stores results in batches: when one is full, when the oldest has
// waited for Linger, and at once when nothing else is on its way.
func (w *Worker) finishLoop(ctx context.Context) {
	linger := time.NewTimer(0)
	linger.Stop()
	defer linger.Stop()
	batch := make([]Result, 0, w.Batch)
	flush := func() {
		linger.Stop()
		if len(batch) > 0 {
			w.finish(ctx, batch)
			batch = batch[:0]
		}
	}
	for {
		select {
		case r, more := <-w.results:
			if !more {
				flush()
				return
			}
			if len(batch) == 0 {
				linger.Reset(w.Linger)
			}
			batch = append(batch, r)
			if len(batch) == w.Batch || w.open.Load() == 0 && len(w.results) == 0 {
				flush()
			}
		case <-linger.C:
			flush()
		}
	}
}

// finish stores one batch, trying until it is stored or the worker stops.
// Meanwhile results are not taken, senders fill up, and nothing more is
// claimed: sending what cannot be recorded would only be sent again.
func (w *Worker) finish(ctx context.Context, batch []Result) {
	steady := context.WithoutCancel(ctx)
	for try := 1; ; try++ {
		storing, done := context.WithTimeout(steady, w.Attempt)
		err := w.Queue.Finish(storing, batch)
		done()
		if err == nil {
			break
		}
		w.Log.Error("storing verdicts", "lane", w.Lane, "results", len(batch), "error", err)
		if ctx.Err() != nil && try >= finishTriesStopping {
			return
		}
		w.pause(steady, finishPause)
	}
	for _, r := range batch {
		if r.mayComeDueSoon() {
			w.Wake()
			return
		}
	}
}
