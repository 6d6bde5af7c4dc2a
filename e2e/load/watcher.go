package load

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// watcher is one client of a crowd.
type watcher struct {
	crowd      *crowdOf
	seat       int
	connection int
	line       *line
	at         *v1.At
	// unread is how many messages it has seen.
	unread int
	// back is of the stream that is being opened; handshake of its connection.
	back      recall
	handshake atomic.Int64
}

// firstTries is how often a stream may fail before the first is open: on a busy
// machine a handshake of a crowd may take longer than the server allows.
const firstTries = 20

// The pauses between tries, as PROTOCOL.md has them.
const firstBackoff, longestBackoff = 500 * time.Millisecond, time.Minute

// follow keeps a stream open until ctx ends. level hears how the first one
// began.
func (w *watcher) follow(ctx context.Context, level chan<- error) {
	var since time.Time // when it began to come back
	for ctx.Err() == nil {
		pause, live, err := w.stream(ctx, func() {
			if since.IsZero() {
				level <- nil
				return
			}
			w.back.Took, w.back.Handshake = time.Since(since), time.Duration(w.handshake.Swap(0))
			back := w.back
			w.crowd.note(func(r *report) { r.Returns = append(r.Returns, back) })
		})
		if ctx.Err() != nil {
			return
		}
		if since.IsZero() && !live && w.back.Tries == firstTries {
			level <- err
			return
		}
		if live { // a new absence
			w.back = recall{}
		} else {
			pause = rand.N(min(firstBackoff<<min(w.back.Tries, 7), longestBackoff))
			w.back.Tries++
		}
		if !wait(ctx, pause) {
			return
		}
		if live {
			since = time.Now()
		}
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stream reads one stream to its end: how long it was asked to wait then, and
// whether it had ever been level.
func (w *watcher) stream(ctx context.Context, level func()) (pause time.Duration, live bool, err error) {
	w.line = w.crowd.line(w.connection, w.line)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.line.watch(httptrace.WithClientTrace(ctx, w.trace()), w.crowd.Seats[w.seat].Token, w.at)
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = stream.Close() }()
	for {
		frame, err := stream.Receive()
		switch {
		case err != nil:
			return pause, live, err
		case frame.GetCaughtUp() != nil:
			live = true
			level()
		case frame.GetGoaway() != nil:
			from, to := frame.GetGoaway().GetReconnectMin().AsDuration(), frame.GetGoaway().GetReconnectMax().AsDuration()
			pause = from + rand.N(max(to-from, 0)+1)
		case frame.GetDelta() != nil:
			w.take(frame.GetDelta(), time.Now())
		}
	}
}

// trace times the handshake, where there is one.
func (w *watcher) trace() *httptrace.ClientTrace {
	var began time.Time
	return &httptrace.ClientTrace{
		TLSHandshakeStart: func() { began = time.Now() },
		TLSHandshakeDone:  func(tls.ConnectionState, error) { w.handshake.Store(int64(time.Since(began))) },
	}
}

// take counts what a page brought. Changes close together come as one.
func (w *watcher) take(d *v1.Delta, now time.Time) {
	changes := d.GetChanges()
	if changes == nil {
		w.crowd.note(func(r *report) { r.Resets++; r.Failed = "a cursor was refused" })
		return
	}
	w.at.Cursor, w.at.Horizon = changes.GetNext(), changes.GetAsOf()
	unread, err := unreadIn(changes)
	if errors.Is(err, errNoThread) {
		return
	}
	w.crowd.note(func(r *report) {
		if err != nil {
			r.Failed = err.Error()
		}
		for w.unread < unread {
			w.unread++
			r.Sights = append(r.Sights, sight{Seat: w.seat, Unread: w.unread, At: now.UnixNano()})
		}
	})
}
