package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

const (
	// frameTime is how long one frame may take. A reader that takes none for so
	// long is gone as far as the server cares.
	frameTime = 10 * time.Second
	// endTime is how long a stream that has to end may still take to say so.
	endTime = time.Second
)

// errStalled: a frame was not read in its time.
var errStalled = errors.New("rpc: stream not read")

// streamingMux gives the handlers of streams what they need of HTTP.
type streamingMux struct{ connecthttp.ServeMux }

// Handle implements connecthttp.ServeMux.
func (m streamingMux) Handle(pattern string, handler http.Handler) {
	m.ServeMux.Handle(pattern, streaming(handler))
}

type controllerKey struct{}

// streaming keeps what is between from storing, changing or holding back a
// stream, and puts the way to the connection's write deadline into the context.
func streaming(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != beckonv1connect.SyncServiceWatchProcedure {
			next.ServeHTTP(w, r)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store, no-transform")
		h.Set("X-Accel-Buffering", "no")
		if r.ProtoMajor == 1 {
			// A deadline of this stream must not meet a later request.
			h.Set("Connection", "close")
		}
		ctx := context.WithValue(r.Context(), controllerKey{}, http.NewResponseController(w))
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// Watch implements the stream.
func (s syncService) Watch(ctx context.Context, r *v1.WatchRequest, stream beckonv1connect.SyncServiceWatchServerStream) error {
	at, err := atIn(r.GetAt())
	if err != nil {
		return err
	}
	f := &frames{ctx: ctx, stream: stream}
	f.deadline, _ = ctx.Value(controllerKey{}).(*http.ResponseController)
	defer f.end(endTime)
	return s.app.Watch(ctx, principalOf(ctx), app.Watch{At: at, MaxBytes: bytesIn(r.GetMaxBytes())}, f)
}

// frames sends the frames of one stream, each in a time of its own.
type frames struct {
	ctx    context.Context
	stream beckonv1connect.SyncServiceWatchServerStream
	// deadline is nil in process, where nothing is buffered and the context
	// frees a send.
	deadline *http.ResponseController

	// late ends a frame that takes too long. A timer costs far less than a
	// deadline, which HTTP/2 hands to the goroutine of the connection and back
	// for each frame that is sent in time.
	late *time.Timer

	mu sync.Mutex
	// ending: the deadline is that of the whole stream now and stays.
	ending bool
}

var _ app.Watcher = (*frames)(nil)

// Hello implements app.Watcher.
func (f *frames) Hello(h app.Hello) error {
	// Nothing leaves before the first frame otherwise, not even the headers.
	if err := f.stream.SendHeaders(); err != nil {
		return err
	}
	return f.send(&v1.WatchResponse{Frame: &v1.WatchResponse_Hello{Hello: &v1.Hello{
		Epoch: h.Epoch[:], Beat: durationpb.New(h.Beat), MaxAge: durationpb.New(h.MaxAge),
	}}})
}

// Delta implements app.Watcher.
func (f *frames) Delta(d app.Delta) error {
	out, err := deltaOut(d)
	if err != nil {
		return err
	}
	return f.send(&v1.WatchResponse{Frame: &v1.WatchResponse_Delta{Delta: out}})
}

// CaughtUp implements app.Watcher.
func (f *frames) CaughtUp() error {
	return f.send(&v1.WatchResponse{Frame: &v1.WatchResponse_CaughtUp{CaughtUp: &v1.CaughtUp{}}})
}

// Heartbeat implements app.Watcher.
func (f *frames) Heartbeat(sent []app.At) error {
	return f.send(&v1.WatchResponse{Frame: &v1.WatchResponse_Heartbeat{Heartbeat: &v1.Heartbeat{Sent: mapAll(sent, atOut)}}})
}

// Goaway implements app.Watcher.
func (f *frames) Goaway(reconnectMin, reconnectMax time.Duration) error {
	return f.send(&v1.WatchResponse{Frame: &v1.WatchResponse_Goaway{Goaway: &v1.Goaway{
		ReconnectMin: durationpb.New(reconnectMin), ReconnectMax: durationpb.New(reconnectMax),
	}}})
}

// Abandon implements app.Watcher. Canceling a context does not free a handler
// that is blocked in a send; moving the write deadline does. A reader that
// reads still learns why the stream ends.
func (f *frames) Abandon() { f.end(endTime) }

// end gives what is left of the stream so much time, once: also the words that
// follow the last frame go to somebody who may not read.
func (f *frames) end(within time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ending {
		f.setDeadline(time.Now().Add(within))
		f.ending = true
	}
}

// expire fails a frame that nobody reads.
func (f *frames) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ending {
		f.setDeadline(time.Now())
	}
}

// setDeadline fails on a connection that is gone, which the send will find.
func (f *frames) setDeadline(to time.Time) {
	if f.deadline != nil {
		_ = f.deadline.SetWriteDeadline(to)
	}
}

// begin gives the next frame its time.
func (f *frames) begin() {
	switch {
	case f.deadline == nil:
	case f.late == nil:
		f.late = time.AfterFunc(frameTime, f.expire)
	default:
		f.late.Reset(frameTime)
	}
}

func (f *frames) send(m *v1.WatchResponse) error {
	f.begin()
	err := f.stream.Send(m)
	inTime := f.late == nil || f.late.Stop()
	if err == nil {
		// A flush that failed shows only here.
		err = f.ctx.Err()
	}
	switch {
	case !inTime:
		return fmt.Errorf("%w: %w", errStalled, cmp.Or(err, os.ErrDeadlineExceeded))
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%w: %w", errStalled, err)
	default:
		return fmt.Errorf("%w: %w", context.Canceled, err) // the connection is gone
	}
}

func atOut(at app.At) *v1.At {
	return &v1.At{Scope: scopeOfSyncOut(at.Scope), Cursor: at.Cursor, Horizon: at.Horizon}
}
