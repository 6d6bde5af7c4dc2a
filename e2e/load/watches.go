package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Watches is clients with a stream each; the fields mean what they mean for
// long polls.
type Watches Pulls

func (c Watches) name() string {
	if c.Clients > 1 {
		return fmt.Sprintf("commit to frame, %d streams of one account, %d changes/s", c.Clients, c.Rate)
	}
	return fmt.Sprintf("commit to frame, %d accounts with a stream each, %d changes/s", c.Accounts, c.Rate)
}

// CommitToFrame measures from the moment a change is durable to the moment a
// client has read the frame that carries it, over HTTP/2. Every client has to
// see every change of its account, once.
func CommitToFrame(ctx context.Context, folder string, c Watches) (Result, error) {
	rig, err := openRig(ctx, folder, nil, 0)
	if err != nil {
		return Result{}, err
	}
	defer rig.close()
	p, err := rig.settle(ctx, c.Accounts, false)
	if err != nil {
		return Result{}, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return Result{}, err
	}
	rig.run(ctx)
	n := c.Accounts * c.Clients
	w := &watching{place: p, Pulls: Pulls(c), line: openWire(rig.server.URL(), n), pulled: make(chan pulled, 4*n)}
	defer w.end()
	if err := w.startStreams(ctx); err != nil {
		return Result{}, err
	}
	if err := w.quiet(ctx, n); err != nil {
		return Result{}, err
	}
	span := w.measure(ctx)
	took, err := w.change(ctx)
	r := span.end(c.name(), c.Changes)
	r.P50, r.P99 = Percentile(took, 0.5), Percentile(took, 0.99)
	return r, err
}

// startStreams opens all streams and returns once each has caught up.
func (w *watching) startStreams(ctx context.Context) error {
	ctx, w.stop = context.WithCancel(ctx)
	return each(w.Accounts*w.Clients, crowd, func(i int) error {
		account := i % w.Accounts
		caller := w.line.services(i, w.people[account].access)
		first, err := caller.Bootstrap(ctx, &v1.BootstrapRequest{Scope: accountScope()})
		if err != nil || !first.GetComplete() {
			return errors.Join(err, ctx.Err())
		}
		stream, err := caller.Watch(ctx, &v1.WatchRequest{At: []*v1.At{{
			Scope: accountScope(), Cursor: first.GetCursor(), Horizon: first.GetAsOf(),
		}}})
		if err != nil {
			return err
		}
		level := make(chan error, 1)
		w.running.Go(func() { w.followStream(ctx, stream.Receive, account, level) })
		return <-level
	})
}

// followStream reads frames for ever.
func (w *watching) followStream(ctx context.Context, receive func() (*v1.WatchResponse, error), account int, level chan<- error) {
	for seen := 0; ; {
		frame, err := receive()
		now := time.Now()
		if err == nil && frame.GetDelta().GetReset_() != nil {
			err = errors.New("a cursor was refused")
		}
		if err != nil {
			if ctx.Err() == nil {
				w.pulled <- pulled{err: err}
			}
			select {
			case level <- err:
			default:
			}
			return
		}
		if frame.GetCaughtUp() != nil {
			level <- nil
		}
		changes := frame.GetDelta().GetChanges()
		if len(changes.GetPut()) == 0 {
			continue
		}
		unread, err := unreadIn(changes)
		if err != nil {
			w.pulled <- pulled{err: err}
			return
		}
		for seen < unread { // changes close together come as one
			seen++
			w.pulled <- pulled{at: now, account: account, unread: seen}
		}
	}
}
