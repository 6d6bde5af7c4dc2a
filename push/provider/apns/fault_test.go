package apns_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	emulator "github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/device"
	"github.com/beckon-dev/beckon/push/provider/apns"
)

// numbered is one of many alerts; each has its own identity.
func numbered(n int) push.Message {
	m := decision()
	m.Delivery = fmt.Sprintf("dlv_r_%d", n)
	m.ProviderID, m.CollapseID = push.ProviderID(m.Delivery), push.CollapseID(m.Delivery)
	m.ExpiresAt = time.Now().Add(time.Hour)
	return m
}

// burst sends n alerts at once and returns the verdicts by alert.
func (b *bundle) burst(t *testing.T, n int, patience time.Duration) []push.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	verdicts := make([]push.Verdict, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { verdicts[i] = b.provider.Send(ctx, numbered(i)) })
	}
	wg.Wait()
	return verdicts
}

// wantRangOnce wants n alerts to have rung once each and none of them replaced.
func (b *bundle) wantRangOnce(t *testing.T, n int) {
	t.Helper()
	rang := map[string]int{}
	for _, e := range b.iphone.History().All() {
		switch e.Kind {
		case device.Rang:
			rang[e.Tag]++
		case device.Replaced:
			t.Errorf("%s came twice", e.Tag)
		default:
		}
	}
	if len(rang) != n {
		t.Errorf("%d alerts rang, want %d", len(rang), n)
	}
	for tag, times := range rang {
		if times != 1 {
			t.Errorf("%s rang %d times", tag, times)
		}
	}
}

func wantAllOK(t *testing.T, verdicts []push.Verdict) {
	t.Helper()
	wrong := map[string]int{}
	for _, v := range verdicts {
		if v.Class != push.OK {
			wrong[string(v.Class)+" "+v.Reason]++
		}
	}
	if len(wrong) > 0 {
		t.Errorf("verdicts other than OK: %v", wrong)
	}
}

func (b *bundle) scriptAt(t *testing.T, m emulator.Match, f emulator.Fault) {
	t.Helper()
	if err := b.emulator.Script(m, f); err != nil {
		t.Fatal(err)
	}
}

const many = 5000

// patience is for a whole burst on a slow machine; a burst that hangs uses all of
// it, so it bounds a failure, not a success.
const patience = 4 * time.Minute

func TestSend_B32_FiveThousandAtOnceOverAHundredStreams(t *testing.T) {
	t.Parallel()
	b := setupWith(t, emulator.Config{Streams: 100})
	wantAllOK(t, b.burst(t, many, patience))
	b.wantRangOnce(t, many)
	if n := len(b.emulator.Requests()); n != many {
		t.Errorf("%d requests, want none of them repeated", n)
	}
	if conns := b.emulator.Connections(); len(conns) != 1 || conns[0].Refused != 0 {
		t.Errorf("%+v", conns)
	}
}

// net/http's client hangs when a limit falls below the number of requests that wait
// for a stream: each counts the others as open.
func TestSend_B32_TheLimitFallsToOneUnderABurst(t *testing.T) {
	t.Parallel()
	b := setupWith(t, emulator.Config{Streams: 100})
	b.scriptAt(t, emulator.Match{Nth: 500}, emulator.Fault{Streams: 1})
	b.scriptAt(t, emulator.Match{Nth: 2500}, emulator.Fault{Streams: 20})
	b.scriptAt(t, emulator.Match{Nth: 4000}, emulator.Fault{Streams: 1})
	wantAllOK(t, b.burst(t, many, patience))
	b.wantRangOnce(t, many)
	if n := len(b.emulator.Requests()); n != many {
		t.Errorf("%d requests, want none of them repeated", n)
	}
	if conns := b.emulator.Connections(); len(conns) != 1 {
		t.Errorf("%+v", conns)
	}
}

func TestSend_B32_RefusedStreamsAreSentAgainOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scriptAt(t, emulator.Match{Nth: 10, Times: 40}, emulator.Fault{Answer: emulator.Refused})
	wantAllOK(t, b.burst(t, 200, patience))
	b.wantRangOnce(t, 200)
	if n := len(b.emulator.Requests()); n != 240 {
		t.Errorf("%d requests, want each refused one once more", n)
	}
}

func TestSend_GoAwayBelowIsSentAgainOnce(t *testing.T) {
	t.Parallel()
	for name, nth := range map[string]int{"a later stream": 3, "the first stream": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.scriptAt(t, emulator.Match{Nth: nth}, emulator.Fault{GoAway: emulator.Shutdown, Answer: emulator.Unseen})
			for n := range 4 {
				wantOK(t, b.send(t, numbered(n)))
			}
			b.wantRangOnce(t, 4)
			rs := b.emulator.Requests()
			if len(rs) != 5 || rs[nth-1].ID != rs[nth].ID || rs[nth-1].Conn == rs[nth].Conn {
				t.Errorf("%+v", rs)
			}
		})
	}
}

func TestSend_GoAwayUnderABurstDoublesNothing(t *testing.T) {
	t.Parallel()
	b := setupWith(t, emulator.Config{Streams: 100})
	for _, nth := range []int{150, 400, 900} {
		b.scriptAt(t, emulator.Match{Nth: nth}, emulator.Fault{GoAway: emulator.Shutdown, Answer: emulator.Unseen})
		b.scriptAt(t, emulator.Match{Nth: nth + 150}, emulator.Fault{GoAway: emulator.Shutdown})
	}
	wantAllOK(t, b.burst(t, 1200, patience))
	b.wantRangOnce(t, 1200)
	// Two of them may meet on one connection.
	if n := len(b.emulator.Connections()); n < 4 || n > 7 {
		t.Errorf("%d connections, want at most one more for each of six GOAWAYs", n)
	}
}

func TestSend_GoAwayAtIsNotSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scriptAt(t, emulator.Match{Nth: 2}, emulator.Fault{GoAway: emulator.Shutdown})
	for n := range 3 {
		wantOK(t, b.send(t, numbered(n)))
	}
	b.wantRangOnce(t, 3)
	if rs := b.emulator.Requests(); len(rs) != 3 || rs[1].Conn == rs[2].Conn {
		t.Errorf("%+v", rs)
	}
}

func TestSend_GoAwayAtWithoutAnAnswerIsAmbiguousAndKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	for _, stored := range []bool{true, false} {
		b := setup(t)
		b.scriptAt(t, emulator.Match{Nth: 2}, emulator.Fault{GoAway: emulator.Shutdown, Answer: emulator.Closed, Store: stored})
		wantOK(t, b.send(t, numbered(0)))
		if v := b.send(t, numbered(1)); v.Class != push.Ambiguous || v.Reason != "no_answer" {
			t.Errorf("%+v", v)
		}
		if n := len(b.emulator.Requests()); n != 2 {
			t.Errorf("%d requests: what may have been taken was sent again unasked", n)
		}
		wantOK(t, b.send(t, numbered(1)))
		rs := b.emulator.Requests()
		if rs[1].ID != rs[2].ID || rs[1].CollapseID != rs[2].CollapseID {
			t.Errorf("%+v", rs)
		}
		if n := b.iphone.Rings(decision().Address.Topic); n != 2 {
			t.Errorf("rang %d times, want the second to replace", n)
		}
	}
}

// The last known answer is worth more than the end of the connection behind it.
func TestSend_AConnectionThatEndsBehindItsAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scriptAt(t, emulator.Match{Times: 3}, emulator.Fault{Then: emulator.ThenCloses})
	for n := range 5 {
		wantOK(t, b.send(t, numbered(n)))
		if n < 3 {
			if err := b.emulator.Ended(t.Context(), n+1); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.wantRangOnce(t, 5)
}

// Apple takes rapid reconnection for an attack.
func TestSend_ConnectionsThatEndAtOnceAreNotReplacedRapidly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scriptAt(t, emulator.Match{Times: -1}, emulator.Fault{Reason: emulator.InternalServerError})
	later := 0
	for n := range 200 {
		// Less time than it takes until the next connection: nobody waits for one.
		brief, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		v := b.provider.Send(brief, numbered(n))
		cancel()
		if v.Class != push.Backoff {
			t.Fatalf("%+v", v)
		}
		if v.Reason == "not_sent" {
			later++
			if v.RetryAfter <= 0 || v.RetryAfter > 10*time.Second {
				t.Fatalf("%+v", v)
			}
		}
	}
	if later == 0 {
		t.Error("every failure opened a connection")
	}
	// Who has the time waits for it.
	if v := b.send(t, numbered(0)); v.Reason != "InternalServerError" {
		t.Errorf("%+v", v)
	}
	for _, c := range b.emulator.Connections() {
		if c.TurnedAway {
			t.Fatal("the provider was turned away")
		}
	}
	b.emulator.ClearScript()
	b.ours.Set(10 * time.Second)
	b.apple.Set(10 * time.Second)
	wantOK(t, b.send(t, numbered(0)))
}

// Ten connections go idle and are closed a hundred times. The goroutines of other
// tests would be counted too: not parallel.
func TestSend_B29_AThousandIdleCyclesLeaveNothingBehind(t *testing.T) { //nolint:paralleltest // see above
	const rounds, slots, apart = 100, 10, 11 * time.Minute
	b := setup(t, func(c *apns.Config) { c.Connections, c.IdleClose = slots, 40*time.Millisecond })
	var sockets, goroutines int
	for round := range rounds {
		b.ours.Set(time.Duration(round) * apart)
		b.apple.Set(time.Duration(round) * apart)
		for slot := range slots {
			m := numbered(round*slots + slot)
			m.ExpiresAt = time.Time{}
			v := b.send(t, m)
			// An idle time as short as this one can end a connection before its
			// first request.
			for tries := 0; v.Reason == "not_sent" && tries < 5; tries++ {
				v = b.send(t, m)
			}
			wantOK(t, v)
		}
		if err := b.emulator.Ended(t.Context(), len(b.emulator.Connections())); err != nil {
			t.Fatal(err)
		}
		if round == 2 {
			sockets, goroutines = openSockets(t), runtime.NumGoroutine()
		}
	}
	if n := len(b.emulator.Connections()); n < rounds*slots {
		t.Errorf("%d connections: some never went idle", n)
	}
	if n := openSockets(t); n > sockets+slots {
		t.Errorf("%d sockets at the end, %d after three rounds", n, sockets)
	}
	if n := runtime.NumGoroutine(); n > goroutines+3*slots {
		t.Errorf("%d goroutines at the end, %d after three rounds", n, goroutines)
	}
	b.wantRangOnce(t, rounds*slots)
}

func openSockets(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// The bounds of a dead connection as they are set: a ping after 10 s of silence and
// 5 s for its answer, or one attempt of 10 s without an answer, end it. The next
// send then takes as long as a connection does.
const (
	foundBy  = 10*time.Second + 5*time.Second
	openedBy = 5 * time.Second
)

func TestSend_B30_TheNextSendIsWithinTwentySeconds(t *testing.T) {
	t.Parallel()
	if apns.DefaultReadIdle+apns.DefaultPingTimeout != foundBy || apns.DialTimeout != openedBy || foundBy+openedBy > 20*time.Second {
		t.Errorf("found dead after %v, replaced within %v", apns.DefaultReadIdle+apns.DefaultPingTimeout, apns.DialTimeout)
	}
	// A tenth of the real times.
	quick := func(c *apns.Config) {
		c.ReadIdle, c.PingTimeout = apns.DefaultReadIdle/10, apns.DefaultPingTimeout/10
	}
	for name, f := range map[string]emulator.Fault{
		"an idle connection dies":   {Then: emulator.ThenSilence},
		"it dies under a push":      {Answer: emulator.BlackHoled},
		"it dies with what it took": {Answer: emulator.BlackHoled, Store: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, quick)
			b.script(t, f)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			// Each Send is an attempt of the outbox; none is answered late.
			tries := 0
			for m := numbered(0); ; tries++ {
				if v := b.provider.Send(ctx, m); v.Class == push.OK && tries > 0 {
					break
				} else if v.Class != push.OK && v.Class != push.Ambiguous {
					t.Fatalf("%+v", v)
				}
			}
			if tries > 2 {
				t.Errorf("%d sends were lost to a dead connection", tries)
			}
			if n := b.iphone.Rings(decision().Address.Topic); n != 1 {
				t.Errorf("rang %d times under one identity", n)
			}
		})
	}
}

// Without pings an attempt that heard nothing at all is what finds it.
func TestSend_B30_AnAttemptInSilenceReplacesTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.scriptAt(t, emulator.Match{}, emulator.Fault{Then: emulator.ThenSilence})
	wantOK(t, b.send(t, numbered(0)))
	attempt, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if v := b.provider.Send(attempt, numbered(1)); v.Class != push.Ambiguous {
		t.Errorf("%+v", v)
	}
	wantOK(t, b.send(t, numbered(1)))
	if n := len(b.emulator.Connections()); n != 2 {
		t.Errorf("%d connections", n)
	}
	b.wantRangOnce(t, 2)
}

// One answer that is slow says nothing of a connection on which others arrive.
func TestSend_ASlowAnswerDoesNotCostTheConnection(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantOK(t, b.send(t, numbered(0)))
	b.scriptAt(t, emulator.Match{}, emulator.Fault{Answer: emulator.NoReply})
	attempt, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		if v := b.provider.Send(attempt, numbered(1)); v.Class != push.Ambiguous {
			t.Errorf("%+v", v)
		}
	})
	if _, err := b.emulator.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	wantOK(t, b.send(t, numbered(2)))
	wg.Wait()
	wantOK(t, b.send(t, numbered(1)))
	if n := len(b.emulator.Connections()); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Who gives up while it waits for a stream passes its turn on.
func TestSend_WhoGivesUpWaitingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := setupWith(t, emulator.Config{Streams: 2})
	wantOK(t, b.send(t, numbered(0)))
	hold := b.emulator.Hold(emulator.Match{Times: 2})
	giveUp, cancel := context.WithCancel(t.Context())
	defer cancel()
	var patient, hasty sync.WaitGroup
	for n := range 60 {
		ctx, group := t.Context(), &patient
		if n > 1 && n%2 == 1 {
			ctx, group = giveUp, &hasty
		}
		group.Go(func() {
			if v := b.provider.Send(ctx, numbered(1+n)); group == &patient && v.Class != push.OK {
				t.Errorf("%+v", v)
			}
		})
		if n < 2 {
			if _, err := hold.Reached(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	hasty.Wait()
	hold.Release()
	patient.Wait()
	b.wantRangOnce(t, 32)
}

// What nobody looked at was not sent, however the connection after it fares.
func TestSend_GoAwayBelowWithoutAnotherConnectionIsNotAmbiguous(t *testing.T) {
	t.Parallel()
	b := setupWith(t, emulator.Config{Connects: 1})
	b.scriptAt(t, emulator.Match{}, emulator.Fault{GoAway: emulator.Shutdown, Answer: emulator.Unseen})
	if v := b.send(t, numbered(0)); v.Class != push.Backoff || v.Reason != "not_sent" {
		t.Errorf("%+v", v)
	}
	b.apple.Set(time.Minute)
	wantOK(t, b.send(t, numbered(0)))
}
