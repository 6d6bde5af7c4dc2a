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

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

const (
	// frameTime is how long one frame may take. A reader that takes none for so
	// long is gone as far as the server cares.
	frameTime = 10 * time.Second
	// endTime is how long a stream that has to end may still take to say so.
	endTime = time.Second
)

var (
	// errStalled: a frame was not read in its time.
	errStalled = errors.New("rpc: stream not read")
	// errSlow: what was to be sent did not come in its time.
	errSlow = errors.New("rpc: stream not written")
)

// streamingMux gives the handlers of streams what they need of HTTP.
type streamingMux struct{ connecthttp.ServeMux }

// Handle implements connecthttp.ServeMux.
func (m streamingMux) Handle(pattern string, handler http.Handler) {
	m.ServeMux.Handle(pattern, streaming(handler))
}

type controllerKey struct{}

// streaming keeps what is between from storing, changing or holding back a
// stream, and puts the way to the connection's deadlines into the context.
func streaming(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case beckonv1connect.SyncServiceWatchProcedure,
			beckonv1connect.ArtifactServiceUploadArtifactProcedure,
			beckonv1connect.ArtifactServiceDownloadArtifactProcedure:
		default:
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

func controllerOf(ctx context.Context) *http.ResponseController {
	c, _ := ctx.Value(controllerKey{}).(*http.ResponseController)
	return c
}

// pace gives each frame that is sent a time of its own.
type pace struct {
	ctx context.Context
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

func newPace(ctx context.Context) *pace {
	return &pace{ctx: ctx, deadline: controllerOf(ctx)}
}

// end gives what is left of the stream so much time, once: also the words that
// follow the last frame go to somebody who may not read.
func (f *pace) end(within time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ending {
		f.setDeadline(time.Now().Add(within))
		f.ending = true
	}
}

// expire fails a frame that nobody reads.
func (f *pace) expire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.ending {
		f.setDeadline(time.Now())
	}
}

// setDeadline fails on a connection that is gone, which the send will find.
func (f *pace) setDeadline(to time.Time) {
	if f.deadline != nil {
		_ = f.deadline.SetWriteDeadline(to)
	}
}

// begin gives the next frame its time.
func (f *pace) begin() {
	switch {
	case f.deadline == nil:
	case f.late == nil:
		f.late = time.AfterFunc(frameTime, f.expire)
	default:
		f.late.Reset(frameTime)
	}
}

func (f *pace) send(frame func() error) error {
	f.begin()
	err := frame()
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
