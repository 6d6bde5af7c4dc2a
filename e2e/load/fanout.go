package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	"github.com/beckon-dev/beckon/server"
)

// BareFanOut is what a burst is compared with: the same frames to as many
// streams over the same lines by a Connect handler that does nothing else. It
// keeps no state, knows no caller, and reads nothing.
func BareFanOut(ctx context.Context, folder string, c Watches) (r Result, err error) {
	frame, err := sample(ctx, folder)
	if err != nil {
		return r, err
	}
	f := &fan{streams: map[chan *v1.WatchResponse]struct{}{}}
	stop, url, err := f.serve(ctx)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	crowd, err := gather(ctx, gathering{
		URL: url, HTTP1: c.Line.HTTP1, PerConnection: c.Line.PerConnection, Seats: make([]seat, 1), Clients: c.Clients,
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, crowd.close()) }()
	made, cpu := map[change]time.Time{}, CPU()
	err = paced(ctx, c.Changes, c.Rate, func(i int) {
		next := nth(frame, i+1)
		made[change{0, i + 1}] = time.Now()
		f.send(next)
	})
	if err != nil {
		return r, err
	}
	got, err := crowd.ask(wish{Sights: c.Changes * c.Clients})
	if err != nil {
		return r, err
	}
	took, err := since(made, got.Sights, c.Clients)
	return Result{
		What: fmt.Sprintf("the same frames from a bare Connect handler to %d streams, %d a second", c.Clients, c.Rate),
		Rate: float64(c.Rate), CPU: (CPU() - cpu) / time.Duration(c.Changes*c.Clients), RssAnonMB: RssAnonMB(),
		P50: Percentile(took, 0.5), P99: Percentile(took, 0.99),
	}, err
}

// sample is a page as the server makes it for one change.
func sample(ctx context.Context, folder string) (changes *v1.Changes, err error) {
	rig, err := openRig(ctx, folder, nil, 0)
	if err != nil {
		return nil, err
	}
	defer rig.close()
	p, err := rig.settle(ctx, 1, false)
	if err != nil {
		return nil, err
	}
	if err := p.begin(ctx, "work"); err != nil {
		return nil, err
	}
	seats, err := p.seats(ctx)
	if err != nil {
		return nil, err
	}
	rig.run(ctx)
	if err := (&watching{place: p}).say(ctx, p.people[0], 1); err != nil {
		return nil, err
	}
	line := openWire(rig.server.URL(), 1)
	defer line.close()
	got, err := line.services(0, seats[0].Token).Pull(ctx, &v1.PullRequest{At: []*v1.At{{
		Scope: accountScope(), Cursor: seats[0].Cursor, Horizon: seats[0].Horizon,
	}}})
	if err != nil {
		return nil, err
	}
	changes = got.GetDeltas()[0].GetChanges()
	_, err = unreadIn(changes)
	return changes, err
}

// nth is the page of the n-th change.
func nth(page *v1.Changes, n int) *v1.WatchResponse {
	page = proto.CloneOf(page)
	for _, e := range page.GetPut() {
		var header v1.Thread
		if e.GetKind() == v1.EntityKind_ENTITY_KIND_THREAD_HEADER && proto.Unmarshal(e.GetBody(), &header) == nil {
			header.Unread = uint64(n)
			e.Body, _ = proto.Marshal(&header)
		}
	}
	return &v1.WatchResponse{Frame: &v1.WatchResponse_Delta{Delta: &v1.Delta{
		Scope: accountScope(), Result: &v1.Delta_Changes{Changes: page},
	}}}
}

// fan sends every frame to every stream.
type fan struct {
	beckonv1connect.SyncServiceHandler

	mu      sync.Mutex
	streams map[chan *v1.WatchResponse]struct{}
}

// serve opens a port with the settings of the server's own.
func (f *fan) serve(ctx context.Context) (stop func() error, url string, err error) {
	port, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	mux, procedures := http.NewServeMux(), connect.NewServer()
	beckonv1connect.RegisterSyncServiceHandler(procedures, f)
	connecthttp.Mount(mux, procedures, connecthttp.WithCompressMinBytes(1024))
	base, cancel := context.WithCancel(ctx)
	web := server.NewHTTP(base, false, mux)
	served := make(chan error, 1)
	go func() { served <- web.Serve(port) }()
	return func() error {
		cancel()
		err := web.Close()
		if end := <-served; !errors.Is(end, http.ErrServerClosed) {
			err = errors.Join(err, end)
		}
		return err
	}, "http://" + port.Addr().String(), nil
}

// Watch implements the stream.
func (f *fan) Watch(ctx context.Context, _ *v1.WatchRequest, stream beckonv1connect.SyncServiceWatchServerStream) error {
	frames := make(chan *v1.WatchResponse, 16)
	f.mu.Lock()
	f.streams[frames] = struct{}{}
	f.mu.Unlock()
	err := errors.Join(
		stream.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Hello{Hello: &v1.Hello{Beat: durationpb.New(time.Hour)}}}),
		stream.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_CaughtUp{CaughtUp: &v1.CaughtUp{}}}),
	)
	for err == nil {
		select {
		case next := <-frames:
			err = stream.Send(next)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return err
}

func (f *fan) send(frame *v1.WatchResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.streams {
		c <- frame
	}
}
