package pitfalls_test

import (
	"os"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	"github.com/beckon-dev/beckon/e2e/faultproxy"
)

// usual is the heartbeat of a server as shipped; no test waits for one.
const usual = 25 * time.Second

// soon is what a busy machine may take for what is to be at once. It is far from
// every heartbeat and every timeout of a transport.
const soon = 5 * time.Second

// A device wakes up with connections that are dead and not closed. It asks none
// of them, and the first answer over a new one makes it right.
func TestResume_S16_DeadSocketAfterSleep(t *testing.T) {
	t.Parallel()
	for name, http1 := range map[string]bool{"HTTP2": false, "HTTP1": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, usual)
			n := h.requests(1)
			n.http.Downgrade(http1)
			s := follow(t, h.over(n, beckon.Retry{}))
			h.started("before")
			s.await("before", soon)
			n.Now(faultproxy.Fault{Kind: faultproxy.HalfOpen})
			h.started("while asleep")
			before := n.http.Counts()
			var asked map[string]int
			s.onDraw(func() { // before anything else can be asked for
				if asked == nil {
					asked = n.since(before)
				}
			})
			woke := time.Now()
			s.inbox.Resume()
			took := s.await("while asleep", soon).Sub(woke)
			t.Logf("right after %v", took)
			s.onDraw(nil)
			same(t, "asked until it was right", asked, map[string]int{"Pull": 1})
			h.started("afterwards") // by the stream
			s.await("afterwards", soon)
		})
	}
}

// The same while there is no network at first: what is waited for between two
// tries is cut short.
func TestResume_S16_WhileItBacksOff(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.bytesOnly(1)
	s := follow(t, h.over(n, beckon.Retry{}))
	h.started("before")
	s.await("before", soon)
	n.All(faultproxy.Fault{Kind: faultproxy.Reset})
	n.Now(faultproxy.Fault{Kind: faultproxy.Reset})
	tries := n.Counts().Accepted + 6 // by then the next is seconds away
	check(t, n.Await(t.Context(), func(c faultproxy.Counts) bool { return c.Accepted >= tries }))
	n.Clear()
	h.started("while away")
	s.inbox.Resume()
	s.await("while away", soon)
}

// A connection that carries nothing any more and is not closed is left within
// 2.2 heartbeats; what was missed is there with the next.
func TestFollow_S17_HalfOpenStream(t *testing.T) {
	t.Parallel()
	const beat = time.Second
	for name, way := range map[string]func(*house, uint64) *network{"plain": (*house).bytesOnly, "TLS": (*house).requests} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, beat)
			n := way(h, 1)
			s := follow(t, h.over(n, beckon.Retry{}))
			h.started("before")
			s.await("before", soon)
			taken := n.Counts().Accepted
			died := time.Now()
			n.Now(faultproxy.Fault{Kind: faultproxy.HalfOpen})
			h.started("while it hangs")
			check(t, n.Await(t.Context(), func(c faultproxy.Counts) bool { return c.Accepted > taken }))
			left := time.Since(died)
			s.await("while it hangs", soon)
			// A heartbeat comes a fifth early or late; at the first try back half a
			// second is by chance; the rest is the machine.
			most := beat*6/5*22/10 + 500*time.Millisecond + time.Second
			t.Logf("left after %v of at most %v, right %v later", left, most, time.Since(died)-left)
			if left > most {
				t.Errorf("left after %v, want %v", left, most)
			}
		})
	}
}

// A network that takes connections and carries nothing: the stream is given up,
// and what follows goes over connections of its own.
func TestFollow_S17_BlackHole(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.bytesOnly(1)
	s := follow(t, h.over(n, beckon.Retry{}))
	h.started("before")
	s.await("before", soon)
	n.Next(faultproxy.Fault{Kind: faultproxy.BlackHole})
	n.Now(faultproxy.Fault{Kind: faultproxy.Truncate})
	h.started("while it is dark")
	s.await("while it is dark", helloTime+soon)
}

// helloTime is how long the client waits for the first frame of a stream.
const helloTime = 5 * time.Second

// A proxy that holds a stream back until its end: after five seconds without a
// frame the client polls, and hears of each change at once.
func TestFollow_S20_BufferingProxy(t *testing.T) {
	t.Parallel()
	for name, http1 := range map[string]bool{"HTTP2": false, "HTTP1": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, usual)
			n := h.requests(1)
			n.http.Downgrade(http1)
			n.http.Rules(faultproxy.Rule{Path: "SyncService/Watch", Buffer: true})
			before := n.http.Counts()
			s := follow(t, h.over(n, beckon.Retry{}))
			h.started("first")
			s.await("first", helloTime+soon)
			for _, title := range []string{"second", "third"} {
				began := time.Now()
				h.started(title)
				if took := s.await(title, soon).Sub(began); took > soon {
					t.Errorf("%s came after %v", title, took)
				}
			}
			asked := n.since(before)
			if asked["Watch"] != 1 || asked["Pull"] < 3 {
				t.Errorf("asked %v; want one stream and then polls", asked)
			}
			if n.http.Counts().Buffered != 1 {
				t.Error("nothing was held back")
			}
		})
	}
}

// A proxy that cuts what says nothing for a while: heartbeats that are more
// frequent keep a stream; where they are not, polls are left.
func TestFollow_S20_IdleCut(t *testing.T) {
	t.Parallel()
	t.Run("heartbeats keep it", func(t *testing.T) {
		t.Parallel()
		const idle = 2500 * time.Millisecond // a cut at 60 s with a beat of 25 s
		h := newHouse(t, time.Second)
		n := h.bytesOnly(1)
		n.All(faultproxy.Fault{Kind: faultproxy.IdleCut, IdleMS: idle.Milliseconds()})
		s := follow(t, h.over(n, beckon.Retry{}))
		h.started("before")
		s.await("before", soon)
		kept := n.Counts()
		<-time.After(2 * idle)
		if now := n.Counts(); now.Accepted != kept.Accepted || now.Happened[faultproxy.IdleCut] != 0 {
			t.Errorf("%+v, then %+v", kept, now)
		}
		h.started("after")
		s.await("after", soon)
	})
	t.Run("sooner than a heartbeat", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t, usual)
		n := h.bytesOnly(1)
		n.All(faultproxy.Fault{Kind: faultproxy.IdleCut, IdleMS: 300})
		s := follow(t, h.over(n, beckon.Retry{}))
		h.started("before")
		s.await("before", soon)
		check(t, n.Await(t.Context(), func(c faultproxy.Counts) bool { return c.Happened[faultproxy.IdleCut] >= 4 }))
		h.started("after")
		s.await("after", 2*soon)
	})
}

// Networks without HTTP/2 carry the same stream.
func TestFollow_S21_HTTP1Downgrade(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.requests(1)
	n.http.Downgrade(true)
	s := follow(t, h.over(n, beckon.Retry{}))
	for _, title := range []string{"first", "second", "third"} {
		h.started(title)
		s.await(title, soon)
	}
	// It speaks HTTP/2 at first, and the network changes under it.
	n.http.Downgrade(false)
	n.Now(faultproxy.Fault{Kind: faultproxy.Reset})
	h.started("over HTTP/2")
	s.await("over HTTP/2", soon)
	n.http.Downgrade(true)
	n.Now(faultproxy.Fault{Kind: faultproxy.Reset})
	h.started("down again")
	s.await("down again", soon)
	c := n.http.Counts()
	if c.HTTP1 < 2 || c.HTTP2 < 1 {
		t.Errorf("%+v", c)
	}
	if got := n.since(faultproxy.HTTPCounts{})["Pull"]; got != 0 {
		t.Errorf("%d polls where streams come through", got)
	}
}

// Networks that carry no streams at all: a client that only polls sees the same.
func TestFollow_S21_NoStreams(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.requests(1)
	n.http.Rules(faultproxy.Rule{Path: "SyncService/Watch", Status: 502})
	s := follow(t, h.over(n, beckon.Retry{}))
	for _, title := range []string{"first", "second", "third"} {
		h.started(title)
		s.await(title, 2*soon)
	}
	if asked := n.since(faultproxy.HTTPCounts{}); asked["Watch"] > 3 {
		t.Errorf("asked %v; want polls after three streams", asked)
	}
}

// The server dies without a word and comes back: nothing is missed, and nothing
// is read from the start again.
func TestFollow_S22_ServerKilledAndRestarted(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.requests(1)
	s := follow(t, h.over(n, beckon.Retry{}))
	h.started("before")
	s.await("before", soon)
	before := n.http.Counts()
	for _, title := range []string{"once", "twice"} {
		n.All(faultproxy.Fault{Kind: faultproxy.Reset})
		n.Now(faultproxy.Fault{Kind: faultproxy.Reset}) // no goodbye comes through
		h.stop()
		h.start()
		h.started(title)
		n.Clear()
		s.await(title, 2*soon)
	}
	if asked := n.since(before); asked["Bootstrap"] != 0 {
		t.Errorf("asked %v; want what goes on from where it was", asked)
	}
}

func writeFile(path string, data []byte) error { return os.WriteFile(path, data, 0o600) }

// A server that answers nothing, behind a proxy that does: that no stream came
// about says nothing about streams, and afterwards there is one again.
func TestFollow_S22_OutageBehindAProxy(t *testing.T) {
	t.Parallel()
	h := newHouse(t, usual)
	n := h.requests(1)
	s := follow(t, h.over(n, beckon.Retry{Attempts: 2, Base: 1}))
	h.started("before")
	s.await("before", soon)
	before := n.http.Counts()
	n.http.Rules(faultproxy.Rule{Path: "SyncService/Watch", Status: 503}, faultproxy.Rule{Path: "SyncService/Pull", Status: 503})
	n.Now(faultproxy.Fault{Kind: faultproxy.Truncate})
	for tick := time.NewTicker(time.Millisecond); n.since(before)["Pull"] < 2; <-tick.C {
		check(t, t.Context().Err())
	}
	n.http.Rules()
	before = n.http.Counts()
	h.started("after")
	s.await("after", 2*soon)
	same(t, "asked afterwards", n.since(before), map[string]int{"Watch": 1})
}
