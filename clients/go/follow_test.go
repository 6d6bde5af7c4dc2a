package beckon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectinprocess"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// streamer is a server of one thread whose header changes, and whose streams do
// what a test says.
type streamer struct {
	beckonv1connect.UnimplementedSyncServiceHandler

	mu sync.Mutex
	// at is the position of the last change.
	at   int
	wake chan struct{}
	// streams are used in turn, the last one for ever.
	streams []func(w *wireStream) error
	// calls are what was asked, with the seconds since the start.
	calls []string
	began time.Time
}

func (s *streamer) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *streamer) asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

func (s *streamer) position() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprint("c", s.at)
}

// change moves on.
func (s *streamer) change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	close(s.wake)
	s.wake = make(chan struct{})
}

func (s *streamer) woken() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wake
}

func (s *streamer) thread() *v1.Entity {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &v1.Entity{Kind: v1.EntityKind_ENTITY_KIND_THREAD_HEADER, Id: "t", Version: uint64(s.at) + 1, Body: []byte{0x0a, 1, byte('0' + s.at%10)}}
}

func (s *streamer) Bootstrap(context.Context, *v1.BootstrapRequest) (*v1.BootstrapResponse, error) {
	s.note("bootstrap")
	at := []byte(s.position())
	return &v1.BootstrapResponse{Put: []*v1.Entity{s.thread()}, Cursor: at, Complete: true, AsOf: at, Epoch: []byte("e")}, nil
}

func (s *streamer) since(at *v1.At) *v1.Delta {
	if string(at.GetCursor()) == s.position() {
		return changes(s.position(), false)
	}
	return changes(s.position(), false, s.thread())
}

func (s *streamer) Pull(ctx context.Context, r *v1.PullRequest) (*v1.PullResponse, error) {
	s.note("pull")
	at := r.GetAt()[0]
	if wait := r.GetWait().AsDuration(); wait > 0 && string(at.GetCursor()) == s.position() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-s.woken():
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &v1.PullResponse{Deltas: []*v1.Delta{s.since(at)}}, nil
}

// wireStream is one stream as a test writes it.
type wireStream struct {
	*streamer
	beckonv1connect.SyncServiceWatchServerStream

	ctx context.Context
	at  *v1.At
}

func (s *streamer) Watch(ctx context.Context, r *v1.WatchRequest, out beckonv1connect.SyncServiceWatchServerStream) error {
	s.note("watch " + string(r.GetAt()[0].GetCursor()))
	s.mu.Lock()
	do := s.streams[0]
	if len(s.streams) > 1 {
		s.streams = s.streams[1:]
	}
	s.mu.Unlock()
	return do(&wireStream{s, out, ctx, proto.CloneOf(r.GetAt()[0])})
}

const beat = 25 * time.Second

func (w *wireStream) hello() error {
	return w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Hello{Hello: &v1.Hello{Beat: durationpb.New(beat)}}})
}

func (w *wireStream) delta() error {
	d := w.since(w.at)
	if len(d.GetChanges().GetPut()) == 0 {
		return nil
	}
	w.at.Cursor = d.GetChanges().GetNext()
	return w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Delta{Delta: d}})
}

func (w *wireStream) caughtUp() error {
	return w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_CaughtUp{CaughtUp: &v1.CaughtUp{}}})
}

func (w *wireStream) heartbeat(cursor []byte) error {
	return w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Heartbeat{Heartbeat: &v1.Heartbeat{Sent: []*v1.At{{Cursor: cursor}}}}})
}

// start sends what every stream begins with.
func start(w *wireStream) error { return errors.Join(w.hello(), w.delta(), w.caughtUp()) }

// good is a stream as it should be.
func good(w *wireStream) error {
	if err := start(w); err != nil {
		return err
	}
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for {
		woken := w.woken()
		if err := w.delta(); err != nil {
			return err
		}
		select {
		case <-woken:
		case <-ticker.C:
			if err := w.heartbeat(w.at.GetCursor()); err != nil {
				return err
			}
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
	}
}

// silent sends nothing (more).
func silent(w *wireStream) error {
	<-w.ctx.Done()
	return w.ctx.Err()
}

func startsOnly(w *wireStream) error { return start(w) }

func dead(*wireStream) error { return connect.NewError(connect.CodeUnavailable, "") }

// followed is an inbox that follows a server in a bubble.
type followed struct {
	*streamer

	inbox *beckon.Inbox
	told  []time.Duration
	// trouble is what was heard of the server: true is away.
	trouble []bool
	done    chan error
	stop    context.CancelFunc
}

// follow runs the test in a bubble, with a server of these streams.
func follow(t *testing.T, run func(t *testing.T, f *followed), streams ...func(*wireStream) error) {
	t.Helper()
	fake := newFake()
	_, path := fake.claim(t, fake.serve(t, "h1"))
	synctest.Test(t, func(t *testing.T) {
		f := &followed{streamer: &streamer{streams: streams, wake: make(chan struct{}), began: time.Now()}, done: make(chan error, 1)}
		srv := connect.NewServer()
		beckonv1connect.RegisterSyncServiceHandler(srv, f.streamer)
		p := must(beckon.OpenPerson(path, beckon.Options{Transport: connectinprocess.New(srv)}))(t)
		inbox := p.Inbox()
		f.inbox = inbox
		inbox.Trouble = func(err error) { f.trouble = append(f.trouble, err != nil) }
		ctx, cancel := context.WithCancel(t.Context())
		f.stop = cancel
		go func() {
			f.done <- inbox.Follow(ctx, func() error {
				if got, want := inbox.Threads()[0].GetId(), string(f.thread().GetBody()[2:]); got != want {
					return fmt.Errorf("told of %s at %s", got, want)
				}
				f.told = append(f.told, time.Since(f.began))
				return nil
			})
		}()
		synctest.Wait()
		run(t, f)
		cancel()
		if err := <-f.done; !errors.Is(err, context.Canceled) {
			t.Error("Follow ended with", err)
		}
		synctest.Wait()
	})
}

// pass lets time go by.
func (f *followed) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestFollow_HearsAtOnce(t *testing.T) {
	t.Parallel()
	follow(t, func(t *testing.T, f *followed) {
		for range 3 {
			f.pass(time.Minute)
			f.change()
			synctest.Wait()
		}
		f.pass(time.Hour)
		same(t, "calls", f.asked(), []string{"bootstrap", "watch c0"})
		same(t, "told", f.told, []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute})
	}, good)
}

// A peer that vanished is found by its silence, and what happened meanwhile is
// told.
func TestFollow_Silence(t *testing.T) {
	t.Parallel()
	follow(t, func(t *testing.T, f *followed) {
		f.change()
		f.pass(beat*22/10 - time.Second)
		same(t, "calls", f.asked(), []string{"bootstrap", "watch c0"})
		f.pass(2 * time.Second)
		same(t, "later", f.asked(), []string{"watch c0"})
		if len(f.told) != 2 {
			t.Error("told at", f.told)
		}
	}, func(w *wireStream) error { return errors.Join(start(w), silent(w)) }, good)
}

// A heartbeat from another place means that something was lost.
func TestFollow_AnotherPosition(t *testing.T) {
	t.Parallel()
	follow(t, func(t *testing.T, f *followed) {
		f.change()
		f.pass(time.Second)
		same(t, "calls", f.asked(), []string{"bootstrap", "watch c0", "pull", "watch c1"})
		if len(f.told) != 2 {
			t.Error("told at", f.told)
		}
	}, func(w *wireStream) error {
		return errors.Join(start(w), func() error { <-w.woken(); return nil }(), w.heartbeat([]byte("c1")), silent(w))
	}, good)
}

func TestFollow_Reset(t *testing.T) {
	t.Parallel()
	follow(t, func(t *testing.T, f *followed) {
		f.pass(time.Minute)
		same(t, "calls", f.asked(), []string{"bootstrap", "watch c0", "bootstrap", "watch c0"})
	}, func(w *wireStream) error {
		return errors.Join(w.hello(), w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Delta{Delta: &v1.Delta{
			Result: &v1.Delta_Reset_{Reset_: &v1.Reset{After: durationpb.New(time.Second)}},
		}}}))
	}, good)
}

// Who is sent away comes back in the window, however often, and it is no
// failure.
func TestFollow_Goaway(t *testing.T) {
	t.Parallel()
	away := func(w *wireStream) error {
		return errors.Join(start(w), w.Send(&v1.WatchResponse{Frame: &v1.WatchResponse_Goaway{Goaway: &v1.Goaway{
			ReconnectMin: durationpb.New(10 * time.Second), ReconnectMax: durationpb.New(20 * time.Second),
		}}}))
	}
	follow(t, func(t *testing.T, f *followed) {
		last := time.Duration(0)
		for range 4 {
			f.asked()
			f.pass(10*time.Second - time.Millisecond)
			same(t, "too early", f.asked(), []string(nil))
			for f.pass(time.Millisecond); len(f.asked()) == 0; f.pass(time.Millisecond) {
				if time.Since(f.began) > last+20*time.Second+time.Millisecond {
					t.Fatal("did not come back in the window")
				}
			}
			last = time.Since(f.began)
		}
	}, away)
}

// Where streams do not come through, it polls, and tries a stream again after
// ten minutes; one failure is enough then.
func TestFollow_FallsBack(t *testing.T) {
	t.Parallel()
	unknown := func(*wireStream) error { return connect.NewError(connect.CodeUnimplemented, "") }
	for _, test := range []struct {
		name string
		bad  func(*wireStream) error
		// tries are how many streams before polling; within is how long they take
		// at most.
		tries  int
		within time.Duration
	}{
		{"no hello", silent, 1, 5 * time.Second},
		{"unknown to the server", unknown, 1, 0},
		{"ends before the first beat", startsOnly, 3, 2 * time.Second},
		{"refused", dead, 3, 2 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			follow(t, func(t *testing.T, f *followed) {
				f.pass(test.within)
				calls := f.asked()
				want := append([]string{"bootstrap"}, slices.Repeat([]string{"watch c0"}, test.tries)...)
				same(t, "before", calls[:min(len(want), len(calls))], want)
				f.change()
				synctest.Wait()
				if n := len(f.told); n < 2 || f.told[n-1] != time.Since(f.began) {
					t.Error("a change in the long poll is told at", f.told)
				}
				f.pass(10*time.Minute - test.within - time.Second)
				if slices.Contains(f.asked(), "watch c1") {
					t.Error("a stream was tried too early")
				}
				f.pass(test.within + 10*time.Second)
				if n := count(f.asked(), "watch c1"); n != 1 {
					t.Errorf("%d streams at the probe", n)
				}
				f.mu.Lock()
				f.streams = []func(*wireStream) error{good}
				f.mu.Unlock()
				f.pass(11 * time.Minute)
				f.asked()
				f.pass(time.Hour)
				same(t, "at last", f.asked(), []string(nil))
			}, test.bad)
		})
	}
}

func count(all []string, what string) (n int) {
	for _, s := range all {
		if s == what {
			n++
		}
	}
	return n
}

// What another try would not change ends it.
func TestFollow_Verdict(t *testing.T) {
	t.Parallel()
	fake := newFake()
	_, path := fake.claim(t, fake.serve(t, "h1"))
	s := &streamer{wake: make(chan struct{}), streams: []func(*wireStream) error{func(*wireStream) error {
		return refusal(connect.CodePermissionDenied, &v1.ErrorInfo{Reason: "WRONG_PRINCIPAL"})
	}}}
	srv := connect.NewServer()
	beckonv1connect.RegisterSyncServiceHandler(srv, s)
	p := must(beckon.OpenPerson(path, beckon.Options{Transport: connectinprocess.New(srv)}))(t)
	if err := p.Inbox().Follow(t.Context(), func() error { return nil }); beckon.ReasonOf(err) != "WRONG_PRINCIPAL" {
		t.Error("Follow =", err)
	}
	enough := errors.New("enough")
	s.streams = []func(*wireStream) error{good}
	if err := p.Inbox().Follow(t.Context(), func() error { return enough }); !errors.Is(err, enough) {
		t.Error("Follow =", err)
	}
}

// An outage is told once and its end once; a stream that ended and is back at
// the next try is none.
func TestFollow_TellsOfTrouble(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		streams []func(*wireStream) error
		want    []bool
	}{
		"away":      {[]func(*wireStream) error{dead, dead, good}, []bool{true, false}},
		"one ended": {[]func(*wireStream) error{startsOnly, good}, nil},
		"there":     {[]func(*wireStream) error{good}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			follow(t, func(t *testing.T, f *followed) {
				f.pass(time.Hour)
				same(t, "trouble", f.trouble, c.want)
			}, c.streams...)
		})
	}
}
