package worker

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// readPause is the wait after a re-read failed or came too late.
const readPause = time.Second

func (w *Worker) sendLoop(ctx context.Context) {
	for it := range w.work {
		r := w.deliver(ctx, it)
		w.open.Add(-1)
		w.results <- r
		w.freed <- struct{}{}
	}
}

// deliver takes one row to its verdict. A stop does not cut a send short: its
// answer is worth more than the seconds it takes.
func (w *Worker) deliver(ctx context.Context, it item) Result {
	d, now := it.delivery, time.Now()
	circuit := w.Circuit()
	switch {
	case ctx.Err() != nil:
		return released(d, ReleasedStopping, now)
	case !it.probe && !circuit.Closed():
		return released(d, ReleasedPaused, circuit.OpenUntil)
	case d.LeaseUntil.Sub(now) < 2*w.Attempt:
		return released(d, ReleasedLeaseShort, now.Add(readPause))
	}
	steady := context.WithoutCancel(ctx)
	reading, done := context.WithTimeout(steady, w.Attempt)
	m, fresh, err := w.Queue.Fresh(reading, d)
	done()
	switch {
	case err != nil:
		w.Log.Error("reading a delivery again", "lane", w.Lane, "delivery", d.ID, "error", err)
		return released(d, ReleasedReadFailed, time.Now().Add(readPause))
	case !fresh.Again.IsZero():
		return released(d, fresh.Reason, fresh.Again)
	case !fresh.Send():
		return Result{Delivery: d, Skip: fresh}
	}
	try, wait := w.pass(d, m.Address)
	if !wait.IsZero() {
		return released(d, outbox.ReasonManyRefused, wait)
	}
	sentAt := time.Now()
	sending, done := context.WithTimeout(steady, w.Attempt)
	defer done()
	v := w.Provider.Send(sending, m)
	if v.Class == push.OK && w.Hooks.Accepted != nil {
		w.Hooks.Accepted()
	}
	v = w.observe(try, v)
	return Result{Delivery: d, Verdict: v, Sent: m.Address, SentAt: sentAt}
}

func released(d push.Delivery, reason string, at time.Time) Result {
	return Result{Delivery: d, Released: reason, ReleaseAt: at}
}
