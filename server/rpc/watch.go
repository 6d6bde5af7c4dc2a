package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server/app"
)

// Watch implements the stream.
func (s syncService) Watch(ctx context.Context, r *v1.WatchRequest, stream beckonv1connect.SyncServiceWatchServerStream) error {
	at, err := atIn(r.GetAt())
	if err != nil {
		return err
	}
	f := &frames{pace: newPace(ctx), stream: stream}
	defer f.end(endTime)
	return s.app.Watch(ctx, principalOf(ctx), app.Watch{At: at, MaxBytes: bytesIn(r.GetMaxBytes())}, f)
}

// frames sends the frames of one stream, each in a time of its own.
type frames struct {
	*pace

	stream beckonv1connect.SyncServiceWatchServerStream
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

func (f *frames) send(m *v1.WatchResponse) error {
	return f.pace.send(func() error { return f.stream.Send(m) })
}

func atOut(at app.At) *v1.At {
	return &v1.At{Scope: scopeOfSyncOut(at.Scope), Cursor: at.Cursor, Horizon: at.Horizon}
}
