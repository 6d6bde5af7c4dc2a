package app_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// dam#3335: to dismiss was to deny. What is put aside stays PENDING with no
// answer, leaves the badge and every other screen, and calls again.
func TestFault_DismissedIsDenied(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(tablet, "bb")
	s, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
	first := h.deliver()[tablet.Installation][0]
	w := h.watch(s.Thread)
	r, err := h.app.SnoozeDecision(t.Context(), h.phone.Principal, d.ID, 10*time.Minute)
	check(t, err)
	left := w.look()
	slices.Sort(left.Outbox)
	if diff := cmp.Diff(effects{
		Commits: 1, Account: []string{"decision", "counters"}, Thread: []string{"decision"},
		Audit: []string{"decision.snoozed by phone"}, Outbox: []string{"sweep", "withdraw"},
	}, left); diff != "" {
		t.Errorf("putting aside left behind (-want +got):\n%s", diff)
	}
	if got := h.decision(d.ID); got.Status != decision.Pending || got.Answer != nil || len(r.AsOf) == 0 || !r.Decision.SnoozeUntil.Equal(h.clock.Now().Add(10*time.Minute)) {
		t.Errorf("put aside: %+v", got)
	}
	if diff := cmp.Diff([]string{"withdraw: Put aside on another device"}, said(h.deliver()[tablet.Installation])); diff != "" {
		t.Errorf("the tablet (-want +got):\n%s", diff)
	}
	// The agent is told nothing, and may not ask around it.
	if len(h.signals(s.ID)) > 0 || h.request(held, func(c *app.RequestDecision) { c.Name = "again" }).ID != d.ID {
		t.Error("putting aside told the agent something")
	}

	h.clock.Advance(10 * time.Minute)
	h.due()
	got := h.deliver()
	for _, device := range []device{h.phone, tablet} {
		m := questions(got[device.Installation])
		if len(m) != 1 || m[0].Payload.Kind != push.DecisionRequired || m[0].CollapseID != first.CollapseID || m[0].ProviderID == first.ProviderID || m[0].Payload.Badge.Count != 1 {
			t.Errorf("back on %s: %v", device.Installation, said(m))
		}
	}
	if a := h.answer(tablet, d, "approve"); a.Outcome != decision.Applied {
		t.Errorf("the card that was seen before: %v", a.Outcome)
	}
	if diff := cmp.Diff([]string{"withdraw: Handled on another device"}, said(h.deliver()[h.phone.Installation])); diff != "" {
		t.Errorf("the phone (-want +got):\n%s", diff)
	}
}

func TestSnoozeDecision_Edges(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
	snooze := func(by device, id string, length time.Duration) error {
		_, err := h.app.SnoozeDecision(t.Context(), by.Principal, id, length)
		return err
	}
	sameNamed(t, "beyond its end", snooze(h.phone, d.ID, time.Hour+1), &decision.InvalidError{Field: "snooze", Reason: "LIMIT"})
	sameNamed(t, "a stranger", snooze(h.newDevice(h.newAccount(), store.PlatformIOS), d.ID, time.Minute), store.ErrNotFound)
	// Put aside before it was sent, it is not sent; brought back, it is not rung
	// for whoever did that.
	check(t, snooze(h.phone, d.ID, time.Hour))
	if got := h.deliver(); len(got) > 0 {
		t.Errorf("sent %v", got)
	}
	check(t, snooze(h.phone, d.ID, 0))
	if got := h.deliver(); len(got) > 0 || h.decision(d.ID).Round != 1 {
		t.Errorf("brought back: %v", got)
	}
	// Silence while it is put aside is silence.
	check(t, snooze(h.phone, d.ID, time.Hour))
	h.clock.Advance(time.Hour)
	h.due()
	if got := h.decision(d.ID); got.Status != decision.Expired {
		t.Errorf("at its end it is %v", got.Status)
	}
	check(t, snooze(h.phone, d.ID, time.Minute)) // which changes nothing
	if got := h.decision(d.ID); got.Status != decision.Expired || got.Snoozed(h.clock.Now()) {
		t.Errorf("afterwards it is %+v", got)
	}
}

// questions is those of the messages that call for an answer.
func questions(messages []push.Message) []push.Message {
	return slices.DeleteFunc(messages, func(m push.Message) bool { return m.Payload.Kind != push.DecisionRequired })
}

// calls is what the phone is called for next.
func (h *harness) calls() []push.Message { return questions(h.deliver()[h.phone.Installation]) }

// Reminders take the place of the call before; what was answered has none.
func TestReminders(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = 100 * time.Minute })
	calls := h.deliver()[h.phone.Installation]
	for _, wait := range []time.Duration{49 * time.Minute, time.Minute, 39 * time.Minute, time.Minute, 9 * time.Minute} {
		h.clock.Advance(wait)
		h.due()
		calls = append(calls, h.calls()...)
	}
	if len(calls) != 3 {
		t.Fatalf("called %d times, want 3", len(calls))
	}
	for _, m := range calls[1:] {
		if m.CollapseID != calls[0].CollapseID || m.ProviderID == calls[0].ProviderID || m.Payload.Version != d.Revision {
			t.Errorf("a reminder is %+v", m)
		}
	}
	_, held = h.startTask("two")
	other := h.numbered(held, 2, func(c *app.RequestDecision) { c.Timeout = 100 * time.Minute })
	h.deliver()
	h.answer(h.phone, other, "deny")
	h.clock.Advance(99 * time.Minute)
	h.due()
	if got := h.calls(); len(got) > 0 {
		t.Errorf("reminded of what was answered: %v", said(got))
	}
	_, held = h.startTask("three")
	quiet := h.numbered(held, 3, func(c *app.RequestDecision) { c.Timeout, c.Calls.Off = 100*time.Minute, true })
	h.deliver()
	h.clock.Advance(99 * time.Minute)
	h.due()
	// The server has called by then for what nobody works on.
	got := slices.DeleteFunc(h.calls(), func(m push.Message) bool { return m.Payload.Decision != quiet.ID })
	if len(got) > 0 || quiet.Reminders != nil {
		t.Errorf("reminded against its word: %v", said(got))
	}
}
