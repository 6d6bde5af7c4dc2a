package outage_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/beckon-dev/beckon/push"
	apple "github.com/beckon-dev/beckon/push/emulator/apns"
	google "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/outbox"
)

const (
	// near is how long a vendor that answers takes to.
	near = 50 * time.Millisecond
	// calm is how long everything works before, dark the outage, after how long
	// the longest wait of a row may still last once it is over.
	calm  = 2 * time.Minute
	dark  = 10 * time.Minute
	after = outbox.MaxDelay + time.Minute
)

// answering lets both vendors answer after a while.
func (p *place) answering() {
	p.t.Helper()
	p.network.Dark(false, p.hosts(push.LaneAPNs)...)
	p.network.Dark(false, p.hosts(push.LaneFCM)...)
	p.apple.ClearScript()
	p.google.ClearScript()
	check(p.t, p.apple.Script(apple.Match{Times: -1}, apple.Fault{Delay: near}))
	check(p.t, p.google.Script(google.Match{Times: -1}, google.Fault{Delay: near}))
}

// unreachable takes a vendor off the network.
func (p *place) unreachable(lane string) { p.network.Dark(true, p.hosts(lane)...) }

// silent lets a vendor take every request and answer none.
func (p *place) silent(lane string) {
	p.t.Helper()
	if lane == push.LaneAPNs {
		p.apple.ClearScript()
		check(p.t, p.apple.Script(apple.Match{Times: -1}, apple.Fault{Answer: apple.BlackHoled}))
		return
	}
	p.google.ClearScript()
	check(p.t, p.google.Script(google.Match{Times: -1}, google.Fault{Answer: google.NoReply}))
}

// memory is what grows when a queue does.
type memory struct {
	goroutines int
	heap       int64
}

func look() memory {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return memory{runtime.NumGoroutine(), int64(m.HeapAlloc)}
}

// B25: ten minutes without one vendor. Calls through the other are as fast as
// ever, nothing piles up in memory, and when the vendor is back everything that
// still calls for the person is sent once, and nothing else.
func TestOutage_B25_TenMinutesInABlackHole(t *testing.T) {
	for _, c := range []struct {
		name, sick, well string
		fail             func(*place, string)
		disk             bool
	}{
		{"Google out of reach", push.LaneFCM, push.LaneAPNs, (*place).unreachable, true},
		{"Google silent", push.LaneFCM, push.LaneAPNs, (*place).silent, false},
		{"Apple out of reach", push.LaneAPNs, push.LaneFCM, (*place).unreachable, false},
		{"Apple silent", push.LaneAPNs, push.LaneFCM, (*place).silent, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t, c.disk)
				p.answering()
				p.askFor(calm)
				before := p.asks
				c.fail(p, c.sick)
				_, claimed := p.queues[c.sick].counts()
				p.askFor(2 * time.Minute)
				early := look()
				p.askFor(dark - 2*time.Minute)
				late := look()
				p.flat(c.sick, early, late, claimed)
				if grown := late.heap - early.heap; c.disk && grown > heapBound {
					t.Errorf("the heap grew by %d kB", grown>>10)
				}
				during := p.asks[len(before):]
				p.answering()
				healed := time.Now()
				time.Sleep(after)
				p.stopLane()

				was, is := p.slowest(c.well, before), p.slowest(c.well, during)
				t.Logf("question to accepted: %v before, %v during; %d attempts to %s", was, is, p.took[c.sick].requests(), c.sick)
				if is > was {
					t.Errorf("question to accepted took %v during the outage, %v before", is, was)
				}
				p.once(c.sick, during, healed)
				p.once(c.well, during, healed)
			})
		})
	}
}

// asked is one question and when it was taken back, if it was.
type asked struct {
	id    string
	taken time.Time
}

// askFor asks again and again. Every third question is taken back a while
// later, but none of the last.
func (p *place) askFor(d time.Duration) {
	const every, patience = 2 * time.Second, 10
	from := len(p.asks)
	for i := range int(d / every) {
		p.asks = append(p.asks, asked{id: p.ask().ID})
		time.Sleep(every)
		if old := from + i - patience; old >= from && old%3 == 0 {
			p.withdraw(p.asks[old].id)
			p.asks[old].taken = time.Now()
		}
	}
}

// flat holds what a lane keeps in memory against its bounds: rows and
// goroutines, with hundreds of rows waiting on the disk.
func (p *place) flat(lane string, early, late memory, claimed int) {
	p.t.Helper()
	waiting := 0
	for _, d := range p.rows(lane) {
		if !d.State.Final() {
			waiting++
		}
	}
	most, claims := p.queues[lane].counts()
	p.t.Logf("%d rows wait, at most %d were in memory; %d claims; after 2 and 10 minutes %d and %d goroutines, %d and %d kB of heap",
		waiting, most, claims-claimed, early.goroutines, late.goroutines, early.heap>>10, late.heap>>10)
	if waiting < 150 {
		p.t.Errorf("only %d rows wait: nothing was put to the test", waiting)
	}
	// Each sender has a row on its way, and may have one on its way back.
	if most > 2*senders {
		p.t.Errorf("%d rows of %s in memory with %d senders", most, lane, senders)
	}
	if late.goroutines > early.goroutines+senders {
		p.t.Errorf("from %d to %d goroutines", early.goroutines, late.goroutines)
	}
	// A sender claims when it is free, and an attempt lasts ten seconds.
	if n := claims - claimed; n > 4*int(dark/time.Second) {
		p.t.Errorf("%d claims in %v", n, dark)
	}
}

// heapBound is what the heap may grow by in eight minutes of outage, where the
// rows are on the disk; 160 kB were measured.
const heapBound = 1 << 20

// slowest is the longest time from a question to its acceptance by a vendor.
func (p *place) slowest(lane string, asks []asked) (most time.Duration) {
	p.t.Helper()
	rows := p.rows(lane)
	// The first one connects.
	for _, a := range asks[1:] {
		d := rows[a.id]
		if d.State != push.Accepted {
			p.t.Errorf("%s: the call of %s is %s (%s)", lane, a.id, d.State, d.Reason)
			continue
		}
		most = max(most, d.AcceptedAt.Sub(d.CreatedAt))
	}
	return most
}

// once checks that what still calls for the person was delivered one time, and
// what was taken back before it was delivered was not. A send that was under way
// at the end of the outage may have run out of time with its answer on the way:
// it comes again under the identity that replaces it.
func (p *place) once(lane string, asks []asked, healed time.Time) {
	p.t.Helper()
	const attempt = 10 * time.Second
	rows := p.rows(lane)
	sent, again, never := 0, 0, 0
	for _, a := range asks {
		d, got := rows[a.id], p.took[lane].of(a.id)
		inTime := a.taken.IsZero() || got.first.Before(a.taken)
		switch {
		case d.State == push.Accepted && got.n == 1 && inTime:
			sent++
		case d.State == push.Accepted && got.n == 2 && inTime && d.MaybeSent && got.first.Sub(healed) < attempt && len(got.identities) == 1:
			again++
		case !a.taken.IsZero() && d.State == push.Superseded && d.Reason == outbox.ReasonHandled && got.n == 0:
			never++
		default:
			p.t.Errorf("%s: %s, taken back at %v, is %s (%s) after %d attempts and was delivered as %+v", lane, a.id, a.taken, d.State, d.Reason, d.Attempt, got)
		}
	}
	p.t.Logf("%s: %d delivered once, %d once more under the same identity, %d never", lane, sent, again, never)
	if again > senders {
		p.t.Errorf("%d were delivered twice", again)
	}
}
