package apns_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

// push sends a whole good request under a collapse id of its own.
func (w *wire) push(b *bench, id uint32, collapse string) {
	w.t.Helper()
	p := b.good()
	p.set("apns-collapse-id", collapse)
	w.headers(id, p, false)
	w.must(w.framer.WriteData(id, true, []byte(p.body)))
}

// wantEnd wants the server to have closed its side properly, behind what is left of
// an answer.
func (w *wire) wantEnd() {
	w.t.Helper()
	f, err := w.framer.ReadFrame()
	if _, body := f.(*http2.DataFrame); body && err == nil {
		f, err = w.framer.ReadFrame()
	}
	if !errors.Is(err, io.EOF) {
		w.t.Fatalf("read %v, %v; want the end", f, err)
	}
}

// warm is a raw client behind its first accepted push, which was on stream 1.
func (b *bench) warm() *wire {
	b.t.Helper()
	w := b.dial()
	w.want(oneStream)
	w.push(b, 1, "warm")
	w.want(manyStreams, "status 200")
	return w
}

func (b *bench) shown() []string {
	var out []string
	for _, s := range b.phone.Shown(bundle) {
		out = append(out, s.Tag)
	}
	return out
}

func (b *bench) wantShown(want ...string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.shown()); diff != "" {
		b.t.Error("shown: " + diff)
	}
}

const shutdown = ` {"reason":"Shutdown"}`

func TestGoAway_BelowNobodyLookedAtTheStream(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.warm()
	b.fault(apns.Match{}, apns.Fault{GoAway: apns.Shutdown, Answer: apns.Unseen})
	w.push(b, 3, "below")
	w.want("goaway NO_ERROR last 1" + shutdown)
	w.wantEnd()
	b.wantShown("warm")
	if rec := b.Requests()[1]; rec.Answer != apns.Unseen || rec.Stored {
		t.Errorf("%+v", rec)
	}
	b.warm() // a new connection is let in
}

func TestGoAway_BelowTheFirstStreamNamesNone(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	b.fault(apns.Match{}, apns.Fault{GoAway: apns.Shutdown, Answer: apns.Unseen})
	w := b.dial()
	w.want(oneStream)
	w.push(b, 1, "first")
	w.want(manyStreams, "goaway NO_ERROR last 0"+shutdown)
	w.wantEnd()
	b.wantShown()
}

// What is below the last stream still gets its answer, what is above is not looked
// at even when it comes later.
func TestGoAway_FinishesWhatItSawAndNothingElse(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.warm()
	h := b.Hold(apns.Match{})
	b.fault(apns.Match{Nth: 2}, apns.Fault{GoAway: apns.Shutdown, Answer: apns.Unseen})
	w.push(b, 3, "held")
	if _, err := h.Reached(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.push(b, 5, "unseen")
	w.want("goaway NO_ERROR last 3" + shutdown)
	w.push(b, 7, "late")
	w.must(w.framer.WritePing(false, [8]byte{'s', 't', 'i', 'l', 'l', ' ', 'o', 'k'}))
	w.want("pong still ok")
	h.Release()
	w.want("status 200")
	w.wantEnd()
	b.wantShown("warm", "held")
	if n := len(b.Requests()); n != 3 {
		t.Errorf("%d requests were judged, want the late one ignored", n)
	}
}

// A last stream below one that was acted on would be a lie.
func TestGoAway_NeverSaysUnseenOfWhatWasSeen(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	b := start(t, apns.Config{Sleep: func(context.Context, time.Duration) { asked <- struct{}{}; <-release }})
	w := b.warm()
	b.fault(apns.Match{}, apns.Fault{GoAway: apns.Shutdown, Answer: apns.Unseen, Delay: time.Second})
	w.push(b, 3, "slow")
	<-asked
	w.push(b, 5, "quick")
	w.want("status 200")
	close(release)
	w.want("goaway NO_ERROR last 5"+shutdown, "reset REFUSED_STREAM")
	w.wantEnd()
	b.wantShown("warm", "quick")
}

func TestGoAway_AtTheStream(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault apns.Fault
		want  []string
		shown []string
	}{
		"with an answer": {
			fault: apns.Fault{GoAway: apns.Shutdown},
			want:  []string{"status 200"}, shown: []string{"warm", "at"},
		},
		"with a refusal": {
			fault: apns.Fault{GoAway: apns.Shutdown, Reason: apns.ServiceUnavailable},
			want:  []string{"status 503"}, shown: []string{"warm"},
		},
		"closed without an answer though stored": {
			fault: apns.Fault{GoAway: apns.Shutdown, Answer: apns.Closed, Store: true},
			shown: []string{"warm", "at"},
		},
		"closed without an answer": {
			fault: apns.Fault{GoAway: apns.Shutdown, Answer: apns.Closed}, shown: []string{"warm"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, apns.Config{})
			w := b.warm()
			b.fault(apns.Match{}, tc.fault)
			w.push(b, 3, "at")
			w.want("goaway NO_ERROR last 3" + shutdown)
			w.want(tc.want...)
			if tc.fault.Answer == "" {
				w.wantEnd()
			} else if f, err := w.framer.ReadFrame(); err == nil {
				t.Errorf("read %v after the connection was closed", f)
			}
			b.wantShown(tc.shown...)
		})
	}
}

func TestThen_TheConnectionEndsBehindTheAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.warm()
	b.fault(apns.Match{Conn: 1}, apns.Fault{Then: apns.ThenCloses})
	b.warm() // the fault is for the other connection
	w.push(b, 3, "last")
	w.want("status 200")
	w.wantEnd()
}

func TestThen_AnIdleConnectionFallsSilent(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.warm()
	b.fault(apns.Match{}, apns.Fault{Then: apns.ThenSilence})
	w.push(b, 3, "last")
	w.want("status 200")
	w.push(b, 5, "swallowed")
	w.must(w.framer.WritePing(false, [8]byte{}))
	w.must(w.nc.SetReadDeadline(time.Now().Add(300 * time.Millisecond)))
	f, err := w.framer.ReadFrame()
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("read %v, %v; want silence", f, err)
	}
	b.wantShown("warm", "last")
}

func TestStreams_AreLoweredInMidLife(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{Streams: 3})
	w := b.dial()
	w.want(oneStream)
	w.push(b, 1, "warm")
	w.want("streams [MAX_CONCURRENT_STREAMS = 3]", "status 200")
	b.fault(apns.Match{}, apns.Fault{Streams: 2})
	h := b.Hold(apns.Match{Nth: 2, Times: 3})
	w.push(b, 3, "lowers")
	w.push(b, 5, "held") // before it could know
	w.push(b, 7, "held too")
	for range 2 {
		if _, err := h.Reached(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.want("streams [MAX_CONCURRENT_STREAMS = 2]", "status 200")
	w.push(b, 9, "above")
	w.want("reset REFUSED_STREAM")
	h.Release()
	w.want("status 200", "status 200")
	w.push(b, 11, "within")
	w.want("status 200")
	if n := b.Connections()[0].Refused; n != 1 {
		t.Errorf("%d refused", n)
	}
	for _, rec := range b.Requests() {
		if rec.CollapseID == "above" {
			t.Error("a refused stream was looked at")
		}
	}
}

func TestRefused_WasNotLookedAt(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.warm()
	b.fault(apns.Match{}, apns.Fault{Answer: apns.Refused})
	w.push(b, 3, "refused")
	w.want("reset REFUSED_STREAM")
	w.push(b, 5, "again")
	w.want("status 200")
	b.wantShown("warm", "again")
}

func TestConnects_RapidOnesAreTurnedAway(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{Connects: 2})
	dial := func(env apns.Env) error {
		nc, err := tls.Dial("tcp", b.host(env), b.tls())
		if err == nil {
			_ = nc.Close()
		}
		return err
	}
	for range 2 {
		if err := dial(apns.Sandbox); err != nil {
			t.Fatal(err)
		}
	}
	if dial(apns.Sandbox) == nil {
		t.Error("a third connection within a minute was let in")
	}
	if err := dial(apns.Production); err != nil {
		t.Errorf("the other environment: %v", err)
	}
	b.clock.advance(time.Minute)
	if err := dial(apns.Sandbox); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	if err := b.Ended(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	var away []int
	for _, c := range b.Connections() {
		if c.TurnedAway {
			away = append(away, c.Number)
		}
	}
	if diff := cmp.Diff([]int{3}, away); diff != "" {
		t.Error(diff)
	}
}
