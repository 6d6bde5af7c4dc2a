package app_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// android gives a device an address at Google's.
func (h *harness) android(token string) device {
	h.t.Helper()
	d := h.newDevice(h.account, store.PlatformAndroid)
	a := h.newAddress(d, token)
	h.update(h.account, func(tx *store.Tx) error {
		if err := tx.DeleteAddress(a); err != nil {
			return err
		}
		a.Kind, a.Env = push.KindFCMToken, ""
		_, err := tx.PutAddress(a)
		return err
	})
	return d
}

// send sends what is due on a lane, and hands each message on.
func (h *harness) send(lane string, each func(push.Message)) {
	h.t.Helper()
	rows, err := h.app.Outbox().Claim(h.t.Context(), lane, 256, time.Minute)
	check(h.t, err)
	for _, d := range rows {
		m, fresh, err := h.app.Outbox().Fresh(h.t.Context(), d)
		check(h.t, err)
		switch {
		case fresh.Send():
			each(m)
			h.settle(d, push.Verdict{Class: push.OK})
		case fresh.Again.IsZero():
			h.skip(d, fresh)
		default:
			check(h.t, h.app.Outbox().Finish(h.t.Context(), []worker.Result{{Delivery: d, Released: fresh.Reason, ReleaseAt: fresh.Again}}))
		}
	}
}

// settleAll lets time pass until nothing waits on either lane.
func (h *harness) settleAll(each func(push.Message)) {
	h.t.Helper()
	for range 100 {
		idle := true
		for _, lane := range []string{push.LaneAPNs, push.LaneFCM} {
			h.send(lane, each)
			at, ok, err := h.app.Outbox().NextDue(h.t.Context(), lane)
			check(h.t, err)
			if ok && at.After(h.clock.Now()) {
				h.clock.Set(at)
			}
			idle = idle && !ok
		}
		if idle {
			return
		}
	}
	h.t.Fatal("there is always something to send")
}

// pass lets time pass while a worker of the lane of iPhones is at work.
func (h *harness) pass(d time.Duration, each func(push.Message)) {
	h.t.Helper()
	for until := h.clock.Now().Add(d); ; {
		h.send(lane, each)
		at, ok := h.nextDue()
		if !ok || at.After(until) {
			h.clock.Set(until)
			return
		}
		if at.After(h.clock.Now()) {
			h.clock.Set(at)
		}
	}
}

// B4: the second step of the ladder comes after the first one was taken, names
// what that took back, and comes to iPhones alone.
func TestSweep_B4_AfterTheFirstStep(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(tablet, "bb")
	pixel := h.android("cc")
	_, held := h.startTask("one")
	d, other := h.numbered(held, 1), h.numbered(held, 2)
	h.send(push.LaneFCM, func(push.Message) {})
	alerts := h.deliver()[tablet.Installation]
	h.answer(h.phone, d, "deny")
	if at, ok := h.nextDue(); !ok || !at.Equal(h.clock.Now()) {
		t.Fatalf("the first step is due at %v", at)
	}
	h.deliver()
	h.clock.Advance(30 * time.Second)
	h.answer(h.phone, other, "deny")
	h.deliver()
	h.clock.Advance(30*time.Second - time.Microsecond)
	if early := h.deliver(); len(early) > 0 {
		t.Errorf("early: %v", early)
	}
	h.clock.Advance(time.Microsecond)
	got := h.deliver()
	if diff := cmp.Diff([]string{"sweep: "}, said(got[tablet.Installation])); diff != "" || len(got) != 1 {
		t.Fatalf("sent %v (-want +got):\n%s", got, diff)
	}
	m := got[tablet.Installation][0]
	want := []string{alerts[0].CollapseID, alerts[1].CollapseID}
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(m.Payload.Tags))); diff != "" {
		t.Errorf("takes away (-want +got):\n%s", diff)
	}
	if !m.ExpiresAt.IsZero() || m.Payload.Badge.Count != 0 || m.Payload.Subject != (push.Subject{}) {
		t.Errorf("sent %+v", m)
	}
	h.send(push.LaneFCM, func(m push.Message) {
		if m.Address.Installation != pixel.Installation || m.Payload.Kind != push.Withdraw {
			t.Errorf("Android was sent %+v", m.Payload)
		}
	})
	if _, ok := h.nextDue(); ok {
		t.Error("there is more")
	}
}

// Without an alert that was accepted there is nothing to sweep.
func TestSweep_NotWithoutTheFirstStep(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	_, held := h.startTask("one")
	d := h.numbered(held, 1)
	h.numbered(held, 2) // so that there is something left to count
	rows := h.take(2)
	h.answer(h.phone, d, "deny")
	for _, row := range rows {
		h.settle(row, push.Verdict{Class: push.Bug, Reason: "BadTopic"})
	}
	h.settleAll(func(m push.Message) {
		if m.Payload.Kind == push.Sweep {
			t.Errorf("sent %+v", m.Payload)
		}
	})
}

// However much is handled and however often the server starts anew, also while a
// sweep is on its way, an address has two in an hour, and all is swept in the end.
func TestSweep_TwoAnHourAcrossRestarts(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	_, held := h.startTask("one")
	var sent []time.Time
	want, swept := map[string]bool{}, map[string]bool{}
	each := func(m push.Message) {
		switch m.Payload.Kind {
		case push.DecisionRequired:
			want[m.CollapseID] = true
		case push.Sweep:
			sent = append(sent, h.clock.Now())
			for _, tag := range m.Payload.Tags {
				swept[tag] = true
			}
		default:
		}
	}
	for i := range 40 {
		d := h.numbered(held, i)
		h.pass(7*time.Minute, each)
		h.answer(h.phone, d, "deny")
		if i%3 == 0 {
			h.restart()
		}
	}
	h.settleAll(each)
	for i := 2; i < len(sent); i++ {
		if sent[i].Sub(sent[i-2]) < time.Hour {
			t.Errorf("three sweeps within %v", sent[i].Sub(sent[i-2]))
		}
	}
	if diff := cmp.Diff(want, swept); diff != "" || len(sent) < 8 {
		t.Errorf("%d sweeps took away (-want +got):\n%s", len(sent), diff)
	}
}

// A sweep in the hands of a process that died may have been sent: it is not sent
// again, and counts.
func TestSweep_OfADeadProcessIsNotSentAgain(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	_, held := h.startTask("one")
	d := h.numbered(held, 1)
	h.deliver()
	h.answer(h.phone, d, "deny")
	h.deliver()
	h.clock.Advance(time.Minute)
	row := h.takeOne()
	h.message(row)
	h.restart()
	check(t, h.app.Outbox().Recover(t.Context(), lane))
	if got := h.delivery(row); got.State != push.Expired || !got.MaybeSent {
		t.Errorf("given back as %+v", got)
	}
	if at, ok := h.nextDue(); ok {
		t.Errorf("due again at %v", at)
	}
}

// unread shows something in a thread that calls nobody.
func (h *harness) unread(title string) (app.Held, string) {
	h.t.Helper()
	s, held := h.startTask(title)
	h.append(held, thread.RoleAgent, thread.Message, true, "Look. "+title)
	return held, s.Thread
}

func (h *harness) read(d device, threadID string) {
	h.t.Helper()
	_, err := h.app.MarkRead(h.t.Context(), d.Principal, threadID, thread.ReadMark{Position: 99})
	check(h.t, err)
}

// B20: a number that falls without an alert to take back is sent alone, to the
// devices that did not make it fall; seldom, and with the number of the moment.
func TestBadge_B20_ReadElsewhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	var threads []string
	for i := range 20 {
		_, id := h.unread(fmt.Sprint(i))
		threads = append(threads, id)
	}
	if sent := h.deliver(); len(sent) > 0 {
		t.Fatalf("sent %v", sent)
	}
	h.read(h.phone, threads[0])
	h.read(h.phone, threads[1])
	h.clock.Advance(10*time.Second - time.Microsecond)
	if early := h.deliver(); len(early) > 0 {
		t.Errorf("early: %v", early)
	}
	h.clock.Advance(time.Microsecond)
	got := h.deliver()
	if diff := cmp.Diff([]string{"badge: "}, said(got[tablet.Installation])); diff != "" || len(got) != 1 {
		t.Fatalf("sent %v (-want +got):\n%s", got, diff)
	}
	if m := got[tablet.Installation][0]; m.Payload.Badge.Count != 18 || m.CollapseID != "" || m.Payload.Subject != (push.Subject{}) {
		t.Errorf("sent %+v", m)
	}
	var badges []push.Message
	start := h.clock.Now()
	for _, id := range threads[2:19] {
		h.clock.Advance(30 * time.Second)
		h.read(h.phone, id)
		h.send(lane, func(m push.Message) { badges = append(badges, m) })
	}
	took := h.clock.Now().Sub(start)
	h.settleAll(func(m push.Message) { badges = append(badges, m) })
	if limit := int(took/(5*time.Minute)) + 1; len(badges) > limit || badges[len(badges)-1].Payload.Badge.Count != 1 {
		t.Errorf("%d pushes in %v, the last with %+v", len(badges), took, badges[len(badges)-1].Payload.Badge)
	}
	// The last one: an iPhone is woken and sets the 0 itself.
	h.read(h.phone, threads[19])
	var kinds []push.Kind
	h.settleAll(func(m push.Message) { kinds = append(kinds, m.Payload.Kind) })
	if !slices.Equal(kinds, []push.Kind{push.Sweep}) {
		t.Errorf("sent %v", kinds)
	}
	h.read(tablet, threads[19])
	h.settleAll(func(m push.Message) { t.Errorf("reading it again sent %v", m.Payload.Kind) })
}

// icon is the number on a device, as far as pushes and the own app go.
type icon struct {
	device
	apple  bool
	count  uint32
	zeroed int
}

// B20: whatever the order in which questions and threads are handled on three
// devices of both vendors, the number each ends with is the server's, and no
// iPhone is ever sent a 0.
func TestBadge_B20_AnyOrderOnThreeDevices(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		h := newHarness(t)
		r := rand.New(rand.NewPCG(seed, 2020))
		h.newAddress(h.phone, "aa")
		tablet := h.newDevice(h.account, store.PlatformIOS)
		h.newAddress(tablet, "bb")
		icons := []*icon{{device: h.phone, apple: true}, {device: tablet, apple: true}, {device: h.android("cc")}}
		count := func() (n uint32) {
			h.view(h.account, func(tx *store.Read) error {
				n = tx.Counters().Badge()
				return nil
			})
			return n
		}
		each := func(m push.Message) {
			for _, i := range icons {
				switch {
				case i.Installation != m.Address.Installation:
				case i.apple && m.Payload.Kind == push.Sweep:
					i.count = count() // its app reads by sync
				case i.apple && m.Payload.Kind == push.BadgeOnly && m.Payload.Badge.Count == 0:
					i.zeroed++
				case i.apple && m.Payload.Badge.Count == 0: // left out of an alert
				default:
					i.count = m.Payload.Badge.Count
				}
			}
		}
		_, held := h.startTask("asks")
		var open []func(by *icon)
		for n := range 4 {
			d := h.numbered(held, n)
			_, id := h.unread(fmt.Sprint(n))
			open = append(open, func(by *icon) { h.answer(by.device, d, "deny") }, func(by *icon) { h.read(by.device, id) })
		}
		if r.IntN(4) > 0 {
			h.send(push.LaneAPNs, each)
			h.send(push.LaneFCM, each)
		}
		r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, handle := range open[:len(open)-r.IntN(4)] {
			by := icons[r.IntN(3)]
			handle(by)
			by.count = count()
			h.clock.Advance(time.Duration(r.IntN(90)) * time.Second)
			if r.IntN(2) == 0 {
				h.send(push.LaneAPNs, each)
			}
			if r.IntN(2) == 0 {
				h.send(push.LaneFCM, each)
			}
		}
		h.settleAll(each)
		for n, i := range icons {
			if i.count != count() || i.zeroed > 0 {
				t.Errorf("seed %d: device %d shows %d, the server counts %d; sent %d zeros", seed, n, i.count, count(), i.zeroed)
			}
		}
	}
}

// B6: two are shown, one is handled: the number is 1 on the other device, by the
// withdrawal itself, and no second push says so.
func TestBadge_B6_TheWithdrawalCarriesIt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.newDevice(h.account, store.PlatformIOS), "bb")
	pixel := h.android("cc")
	_, held := h.startTask("one")
	first := h.numbered(held, 1)
	h.numbered(held, 2)
	h.send(push.LaneAPNs, func(push.Message) {})
	h.send(push.LaneFCM, func(push.Message) {})
	h.answer(h.phone, first, "deny")
	got := map[string][]string{}
	h.settleAll(func(m push.Message) {
		got[m.Address.Kind.Lane()] = append(got[m.Address.Kind.Lane()], fmt.Sprintf("%s %d", m.Payload.Kind, m.Payload.Badge.Count))
	})
	want := map[string][]string{"apns": {"withdraw 1", "sweep 1"}, "fcm": {"withdraw 1"}}
	if diff := cmp.Diff(want, got); diff != "" || pixel.Installation == "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}
