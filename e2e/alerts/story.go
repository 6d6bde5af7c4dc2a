package alerts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	"github.com/beckon-dev/beckon/push"
	emuapns "github.com/beckon-dev/beckon/push/emulator/apns"
	emufcm "github.com/beckon-dev/beckon/push/emulator/fcm"
)

// Op is what a step of a story is.
type Op string

// Step is one thing that happens. Who and what it happens to is chosen by the
// numbers among what is there, so a story without one of its steps is a story.
type Step struct {
	Op      Op
	A, B, C int
}

// String is a step as it can be written in a test.
func (s Step) String() string { return fmt.Sprintf("{%q, %d, %d, %d}", s.Op, s.A, s.B, s.C) }

// Text is a story, a step a line.
func Text(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "\t%s,\n", s)
	}
	return b.String()
}

// ops is the alphabet with how often each letter comes.
func ops() []struct {
	op     Op
	weight int
	take   func(*world, Step)
} {
	type letter = struct {
		op     Op
		weight int
		take   func(*world, Step)
	}
	return []letter{
		{"ask", 16, func(w *world, s Step) { w.ask(w.account(s.A), s.B, deadline(s.C), false) }},
		{"ask instead", 2, func(w *world, s Step) { w.ask(w.account(s.A), s.B, deadline(s.C), true) }},
		{"take back", 3, func(w *world, s Step) { w.takeBack(w.account(s.A), s.B) }},
		{"end", 7, func(w *world, s Step) { w.finish(w.account(s.A), s.B, s.C) }},
		{"chat", 3, func(w *world, s Step) { w.chat(w.account(s.A), s.B, false) }},
		{"note", 2, func(w *world, s Step) { w.chat(w.account(s.A), s.B, true) }},
		{"answer", 8, func(w *world, s Step) { w.answer(w.account(s.A), s.B) }},
		{"read", 4, func(w *world, s Step) { w.read(w.account(s.A), s.B) }},
		{"tap", 6, func(w *world, s Step) { w.tap(w.phone(s.A), s.B, s.C) }},
		{"press", 6, func(w *world, s Step) { w.press(w.phone(s.A), s.B, s.C) }},
		{"dismiss", 3, func(w *world, s Step) { w.dismiss(w.phone(s.A), s.B) }},
		{"open app", 4, func(w *world, s Step) { w.openApp(w.phone(s.A)) }},
		{"network", 8, func(w *world, s Step) { w.setOnline(w.phone(s.A), w.phone(s.A).offline) }},
		{"doze", 4, func(w *world, s Step) { w.setDoze(w.phone(s.A), !w.phone(s.A).dozes) }},
		{"quit", 3, func(w *world, s Step) { w.quit(w.phone(s.A)) }},
		{"mute", 2, func(w *world, s Step) { w.mute(w.phone(s.A)) }},
		{"rotate", 3, func(w *world, s Step) { w.rotate(w.phone(s.A)) }},
		{"kill token", 2, func(w *world, s Step) { w.killToken(w.phone(s.A)) }},
		{"log in", 2, func(w *world, s Step) { w.switchAccount(w.phone(s.A), s.B) }},
		{"present", 6, func(w *world, s Step) { w.reportPresence(w.phone(s.A), s.B, true) }},
		{"absent", 1, func(w *world, s Step) { w.reportPresence(w.phone(s.A), s.B, false) }},
		{"fault", 9, func(w *world, s Step) { w.fault(w.phone(s.A), s.B, 1+s.C%3) }},
		{"work", 24, func(w *world, s Step) { w.work(w.lane(s.A), 1+s.B%4, survives) }},
		{"race", 5, func(w *world, s Step) { w.race(w.lane(s.A), s.B, s.C) }},
		{"crash", 3, func(w *world, s Step) { w.work(w.lane(s.A), 1+s.B%4, diesClaimed+crash(s.C%2)) }},
		{"restart", 1, func(w *world, _ Step) { w.restart() }},
		{"pass", 12, func(w *world, s Step) { w.pass(span(s.A, s.B)) }},
		{"settle", 3, func(w *world, _ Step) { w.settle() }},
	}
}

// Length is how many steps a story has.
const Length = 60

// Tell makes up the story of a seed.
func Tell(seed uint64) []Step {
	r := rand.New(rand.NewPCG(seed, 0xa1e2))
	all, sum := ops(), 0
	for _, o := range all {
		sum += o.weight
	}
	steps := make([]Step, 0, Length)
	for range Length {
		n := r.IntN(sum)
		for _, o := range all {
			if n -= o.weight; n < 0 {
				steps = append(steps, Step{o.op, r.IntN(1000), r.IntN(1000), r.IntN(1000)})
				break
			}
		}
	}
	return steps
}

// take is one step.
func (w *world) take(s Step) {
	for _, o := range ops() {
		if o.op == s.Op {
			o.take(w, s)
			w.observe()
			return
		}
	}
	w.must(fmt.Errorf("no such step: %s", s))
}

func (w *world) account(n int) *account {
	if n%4 == 3 { // anna has two phones and more to do
		return w.accounts[1]
	}
	return w.accounts[0]
}

func (w *world) phone(n int) *handset { return w.phones[n%len(w.phones)] }

func (w *world) lane(n int) string {
	if n%5 < 3 {
		return push.LaneAPNs
	}
	return push.LaneFCM
}

// deadline is how long a question waits; half have none.
func deadline(n int) time.Duration {
	return []time.Duration{0, 0, 0, time.Minute, 10 * time.Minute, 2 * time.Hour}[n%6]
}

// span is how long nothing happens: mostly seconds, hardly ever more than a day.
func span(a, b int) time.Duration {
	switch n := a % 50; {
	case n < 30:
		return time.Duration(1+b%8) * time.Second
	case n < 43:
		return time.Duration(1+b%300) * time.Second
	case n < 49:
		return time.Duration(1+b%180) * time.Minute
	default:
		return 25 * time.Hour
	}
}

// race is an answer, a read, or a login between the last look and the send.
func (w *world) race(lane string, n, c int) {
	w.between = func() {
		switch a := w.account(n); c % 5 {
		case 0, 1, 2:
			w.answer(a, n)
		case 3:
			w.read(a, n)
		default:
			w.switchAccount(w.phone(n), c)
		}
	}
	w.work(lane, 1+n%3, survives)
	w.between = nil
}

// fault tells a vendor to fail for one phone, the next times that it is sent to.
func (w *world) fault(h *handset, n, times int) {
	kind := oracle.Troubled
	if h.android {
		f := googleFaults()[n%len(googleFaults())]
		if f.Answer == emufcm.NoReply {
			h.quiet += times
		}
		if f.Code == emufcm.InvalidArgument || f.Code == emufcm.SenderIDMismatch {
			kind = oracle.Refused
		}
		w.must(w.fcm.Script(emufcm.Match{Token: h.token, Times: times}, f))
	} else {
		f := appleFaults()[n%len(appleFaults())]
		if f.Answer == emuapns.NoReply {
			h.quiet += times
		}
		if f.Reason == emuapns.BadDeviceToken || f.Reason == emuapns.PayloadTooLarge {
			kind = oracle.Refused
		}
		w.must(w.apns.Script(emuapns.Match{Token: h.token, Times: times}, f))
	}
	w.tell(oracle.Fact{Kind: kind, Phone: h.name, Reason: fmt.Sprintf("fault %d × %d", n, times)})
}

func appleFaults() []emuapns.Fault {
	return []emuapns.Fault{
		{Reason: emuapns.ServiceUnavailable},
		{Reason: emuapns.ServiceUnavailable, Store: true},
		{Reason: emuapns.InternalServerError},
		{Reason: emuapns.TooManyRequests, Header: map[string]string{"Retry-After": "20"}},
		{Status: 502, Body: []byte("<html>bad gateway</html>")},
		{Answer: emuapns.Reset},
		{Answer: emuapns.Reset, Store: true},
		{Answer: emuapns.Closed, Store: true},
		{Answer: emuapns.NoReply},
		{Answer: emuapns.NoReply, Store: true},
		{Reason: emuapns.InvalidProviderToken},
		{Reason: emuapns.BadDeviceToken},
		{Reason: emuapns.PayloadTooLarge},
		{Delay: time.Minute},
	}
}

func googleFaults() []emufcm.Fault {
	return []emufcm.Fault{
		{Code: emufcm.Unavailable},
		{Code: emufcm.Unavailable, Store: true},
		{Code: emufcm.Internal},
		{Code: emufcm.QuotaExceeded, Quota: emufcm.DeviceQuota, RetryAfter: "20"},
		{Status: 502, Body: []byte("<html>bad gateway</html>")},
		{Answer: emufcm.Reset},
		{Answer: emufcm.Reset, Store: true},
		{Answer: emufcm.Closed, Store: true},
		{Answer: emufcm.NoReply},
		{Answer: emufcm.NoReply, Store: true},
		{Status: 403},
		{Code: emufcm.SenderIDMismatch},
		{Code: emufcm.InvalidArgument, Field: "message.data"},
		{Delay: time.Minute},
	}
}
