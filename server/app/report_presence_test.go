package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// looks reports what a device shows.
func (h *harness) looks(d device, thread string, foreground bool) time.Time {
	h.t.Helper()
	until, err := h.app.ReportPresence(h.t.Context(), d.Principal, app.ReportPresence{Thread: thread, Foreground: foreground})
	check(h.t, err)
	return until
}

// B18: no buzz for what is answered within seconds on the screen that shows it.
// The other devices do not wait.
func TestPresence_B18_AnsweredWithinTheGrace(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(tablet, "bb")
	s, held := h.startTask("one")
	if until := h.looks(h.phone, s.Thread, true); !until.Equal(h.clock.Now().Add(30 * time.Second)) {
		t.Errorf("counts until %v", until)
	}
	d := h.request(held)
	sent := h.deliver()
	if len(sent) != 1 || len(sent[tablet.Installation]) != 1 {
		t.Fatalf("sent %v", sent)
	}
	h.clock.Advance(3 * time.Second)
	h.answer(h.phone, d, "deny")
	h.clock.Advance(time.Minute)
	if got := h.deliver()[h.phone.Installation]; len(got) > 0 {
		t.Errorf("the phone in the hand was sent %q", said(got))
	}
	lines, _ := h.told(app.ListDeliveries{Subject: d.ID})
	want := "decision_required " + h.phone.Installation + " superseded: not sent: handled 3 s after it was asked, while this phone was the one in your hand"
	if !slices.Contains(lines, want) {
		t.Errorf("told %q", lines)
	}
}

// Presence delays and never silences: not answered, it rings.
func TestPresence_TheGraceEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ timeout, wait time.Duration }{
		"without hurry":      {time.Hour, 5 * time.Second},
		"with little time":   {6 * time.Second, 3 * time.Second},
		"with hardly a time": {time.Second, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			h.looks(h.phone, s.Thread, true)
			h.request(held, func(r *app.RequestDecision) { r.Timeout = c.timeout })
			at, ok := h.nextDue()
			if !ok || !at.Equal(h.clock.Now().Add(c.wait)) {
				t.Fatalf("due after %v", at.Sub(h.clock.Now()))
			}
			h.looks(h.phone, s.Thread, true) // looking on changes nothing
			h.clock.Advance(c.wait)
			if row := h.takeOne(); row.Reason != outbox.ReasonPresence || !row.HeldUntil.Equal(at) {
				t.Errorf("claimed %+v", row)
			} else if m := h.message(row); m.Payload.Kind != push.DecisionRequired {
				t.Errorf("sent %+v", m)
			}
		})
	}
}

// B1: agents at work and programs that read are no person who looks.
func TestPresence_B1_WorkAndConnectionsProveNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	_, err := h.app.Heartbeat(t.Context(), h.agent, app.Heartbeat{Held: held})
	check(t, err)
	if _, err := h.app.ReportPresence(t.Context(), h.agent, app.ReportPresence{Thread: s.Thread, Foreground: true}); !errors.Is(err, app.ErrWrongPrincipal) {
		t.Errorf("an agent reported presence: %v", err)
	}
	_, err = h.app.Bootstrap(t.Context(), h.phone.Principal, app.Bootstrap{Scope: changelog.ThreadScope(s.Thread)})
	check(t, err)
	h.request(held)
	if got := h.deliver()[h.phone.Installation]; len(got) != 1 {
		t.Errorf("sent %q", said(got))
	}
}

// B2: what once was proof is none when the phone is locked, the report is old,
// another thread is open, or the server has started anew; and what the list of
// deliveries says is what the vendor got.
func TestPresence_B2_OnlyProofOfThisThreadDelays(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(h *harness, thread string){
		"locked":         func(h *harness, thread string) { h.looks(h.phone, thread, false) },
		"in the inbox":   func(h *harness, _ string) { h.looks(h.phone, "", true) },
		"30 seconds old": func(h *harness, _ string) { h.clock.Advance(30 * time.Second) },
		"another thread": func(h *harness, _ string) {
			other, _ := h.startTask("two")
			h.looks(h.phone, other.Thread, true)
		},
		"restarted": func(h *harness, _ string) { h.restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			s, held := h.startTask("one")
			h.looks(h.phone, s.Thread, true)
			change(h, s.Thread)
			held.Lease = h.task(held.Task).Lease.ID
			d := h.request(held)
			if got := h.deliver()[h.phone.Installation]; len(got) != 1 || got[0].Payload.Decision != d.ID {
				t.Fatalf("sent %q", said(got))
			}
			lines, _ := h.told(app.ListDeliveries{Subject: d.ID})
			if want := "decision_required " + h.phone.Installation + " accepted: accepted by Apple 0 s after it was asked"; len(lines) != 1 || lines[0] != want {
				t.Errorf("told %q", lines)
			}
		})
	}
}

func TestPresence_ForeignThreadsAreUnknown(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, _ := h.startTask("one")
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	for _, thread := range []string{s.Thread, "thr_x"} {
		if _, err := h.app.ReportPresence(t.Context(), stranger.Principal, app.ReportPresence{Thread: thread, Foreground: true}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", thread, err)
		}
	}
}

// opens says that a device shows a card and returns when it is called.
func (h *harness) opens(d device, id string) time.Time {
	h.t.Helper()
	at, err := h.app.AcknowledgeDecision(h.t.Context(), d.Principal, id)
	check(h.t, err)
	return at
}

// An open card waits up to a minute on the device that shows it, and once: it
// delays, and silence rings.
func TestAcknowledge_WaitsOnceAndRings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ timeout, wait time.Duration }{
		"without hurry":    {time.Hour, time.Minute},
		"with little time": {time.Minute, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			tablet := h.newDevice(h.account, store.PlatformIOS)
			h.newAddress(h.phone, "aa")
			h.newAddress(tablet, "bb")
			s, held := h.startTask("one")
			h.looks(h.phone, s.Thread, true)
			h.looks(tablet, s.Thread, true)
			d := h.request(held, func(r *app.RequestDecision) { r.Timeout = c.timeout })
			asked := h.clock.Now()
			h.clock.Advance(3 * time.Second)
			for range 3 {
				if at := h.opens(h.phone, d.ID); !at.Equal(asked.Add(c.wait)) {
					t.Errorf("called after %v", at.Sub(asked))
				}
			}
			h.clock.Advance(2 * time.Second)
			if sent := h.deliver(); len(sent) != 1 || len(sent[tablet.Installation]) != 1 {
				t.Fatalf("sent %v", sent)
			}
			lines, _ := h.told(app.ListDeliveries{Subject: d.ID})
			if want := "because the question is open on this phone"; !strings.Contains(strings.Join(lines, "\n"), want) {
				t.Errorf("told %q", lines)
			}
			h.clock.Set(asked.Add(c.wait).Add(-time.Microsecond))
			if at := h.opens(h.phone, d.ID); !at.Equal(asked.Add(c.wait)) {
				t.Errorf("the last moment added %v", at.Sub(asked))
			}
			if sent := h.deliver(); len(sent) != 0 {
				t.Fatalf("sent %v", sent)
			}
			h.clock.Advance(time.Microsecond)
			if at := h.opens(h.phone, d.ID); !at.IsZero() {
				t.Errorf("it was put off again, until %v", at.Sub(asked))
			}
			if sent := h.deliver(); len(sent[h.phone.Installation]) != 1 {
				t.Errorf("an open card was silenced: %v", sent)
			}
			if at := h.opens(h.phone, d.ID); !at.IsZero() {
				t.Errorf("what was sent waits until %v", at)
			}
		})
	}
}

// Answered on the open card, nothing rings there.
func TestAcknowledge_B18_AnsweredOnTheOpenCard(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	h.looks(h.phone, s.Thread, true)
	d := h.request(held)
	h.opens(h.phone, d.ID)
	h.clock.Advance(40 * time.Second)
	if sent := h.deliver(); len(sent) > 0 {
		t.Fatalf("sent %v", sent)
	}
	h.answer(h.phone, d, "deny")
	if at := h.opens(h.phone, d.ID); !at.IsZero() {
		t.Errorf("a closed question waits until %v", at)
	}
	h.clock.Advance(time.Hour)
	if sent := h.deliver(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// Whoever is not called yet waits, looking at the thread or not; whoever is no
// person of this account says nothing.
func TestAcknowledge_WhoMay(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	_, held := h.startTask("one")
	d := h.request(held)
	for _, id := range []string{d.ID, "dec_x"} {
		if _, err := h.app.AcknowledgeDecision(t.Context(), stranger.Principal, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if _, err := h.app.AcknowledgeDecision(t.Context(), h.agent, d.ID); !errors.Is(err, app.ErrWrongPrincipal) {
		t.Errorf("an agent: %v", err)
	}
	if at, ok := h.nextDue(); !ok || !at.Equal(h.clock.Now()) {
		t.Errorf("due at %v", at)
	}
	if at := h.opens(h.phone, d.ID); !at.Equal(h.clock.Now().Add(time.Minute)) {
		t.Errorf("called at %v", at)
	}
}

// A result waits for nothing but for being read.
func TestPresence_ResultsAreSuppressedByReadingAlone(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	s, held := h.startTask("one")
	h.looks(h.phone, s.Thread, true)
	_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: "Built."}})
	check(t, err)
	if at, ok := h.nextDue(); !ok || !at.Equal(h.clock.Now()) {
		t.Errorf("due at %v", at)
	}
	_, err = h.app.MarkRead(t.Context(), h.phone.Principal, s.Thread, thread.ReadMark{Position: 9})
	check(t, err)
	if sent := h.deliver(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}
