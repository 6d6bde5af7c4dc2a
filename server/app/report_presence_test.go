package app_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
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
