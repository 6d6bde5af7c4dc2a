package app_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// deliver sends everything that is due as a vendor on a good day takes it, and
// returns what was sent to each device.
func (h *harness) deliver() map[string][]push.Message {
	h.t.Helper()
	sent := map[string][]push.Message{}
	for _, d := range h.take(256) {
		m, fresh, err := h.app.Outbox().Fresh(h.t.Context(), d)
		check(h.t, err)
		if !fresh.Send() {
			h.skip(d, fresh)
			continue
		}
		h.settle(d, push.Verdict{Class: push.OK})
		sent[m.Address.Installation] = append(sent[m.Address.Installation], m)
	}
	return sent
}

// said is the kinds and titles of what a device was sent.
func said(messages []push.Message) (out []string) {
	for _, m := range messages {
		out = append(out, fmt.Sprintf("%s: %s", m.Payload.Kind, m.Text.Title))
	}
	return out
}

// numbered asks a question that joins no other.
func (h *harness) numbered(held app.Held, i int, change ...func(*app.RequestDecision)) decision.State {
	return h.request(held, append(change, func(c *app.RequestDecision) {
		c.Name, c.Items = fmt.Sprint(i), []decision.Item{action(fmt.Sprint(i), 2)}
	})...)
}

// B3: an answer elsewhere takes the push back; the device that answered is left
// alone.
func TestWithdraw_B3_AnsweredElsewhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(tablet, "bb")
	_, held := h.startTask("one")
	d := h.request(held)
	alerts := h.deliver()
	h.answer(h.phone, d, "deny")
	got := h.deliver()
	if diff := cmp.Diff([]string{"withdraw: Handled on another device"}, said(got[tablet.Installation])); diff != "" {
		t.Fatalf("the tablet (-want +got):\n%s", diff)
	}
	m := got[tablet.Installation][0]
	if alert := alerts[tablet.Installation][0]; m.CollapseID != alert.CollapseID || m.ProviderID == alert.ProviderID ||
		m.Payload.Decision != d.ID || m.Payload.Badge.Count != 0 || len(m.Payload.Actions) > 0 {
		t.Errorf("%+v", m)
	}
	if len(got[h.phone.Installation]) > 0 {
		t.Errorf("the phone that answered: %v", said(got[h.phone.Installation]))
	}
	h.answer(tablet, d, "deny")
	if again := h.deliver(); len(again) > 0 {
		t.Errorf("a losing answer sent %v", again)
	}
}

// However a question ends, what stands on the screens says so.
func TestWithdraw_SaysHowItEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(h *harness, d decision.State)
		want string
	}{
		"in time by nobody": {func(h *harness, _ decision.State) { h.clock.Advance(time.Hour); h.due() }, "withdraw: Expired: nothing was run"},
		"by its agent":      {func(h *harness, d decision.State) { h.withdraw(d.ID) }, "withdraw: No longer needed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			_, held := h.startTask("one")
			d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
			h.deliver()
			c.end(h, d)
			got := said(h.deliver()[h.phone.Installation])
			if len(got) == 0 || got[0] != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWithdraw_ResultReadElsewhere(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(h.phone, "aa")
	h.newAddress(tablet, "bb")
	s, held := h.startTask("one")
	_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: "Built."}})
	check(t, err)
	h.deliver()
	_, err = h.app.MarkRead(t.Context(), h.phone.Principal, s.Thread, thread.ReadMark{Position: 9})
	check(t, err)
	got := h.deliver()
	if diff := cmp.Diff([]string{"withdraw: Handled on another device"}, said(got[tablet.Installation])); diff != "" || len(got) != 1 {
		t.Errorf("sent %v (-want +got):\n%s", got, diff)
	}
	_, err = h.app.MarkRead(t.Context(), tablet.Principal, s.Thread, thread.ReadMark{Position: 9})
	check(t, err)
	if again := h.deliver(); len(again) > 0 {
		t.Errorf("reading it again sent %v", again)
	}
}

// An alert that is on its way while its question is answered is taken back once
// the vendor has it.
func TestWithdraw_OfAnAlertInFlight(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	_, held := h.startTask("one")
	d := h.request(held)
	row := h.takeOne()
	h.message(row)
	h.answer(h.phone, d, "deny")
	waits := h.takeOne()
	_, fresh, err := h.app.Outbox().Fresh(t.Context(), waits)
	check(t, err)
	if fresh.Send() || !fresh.Again.Equal(h.clock.Now().Add(time.Second)) {
		t.Fatalf("the withdrawal came before its alert: %+v", fresh)
	}
	h.settle(row, push.Verdict{Class: push.OK})
	if m := h.message(waits); m.Payload.Kind != push.Withdraw || m.CollapseID != row.CollapseID {
		t.Errorf("sent %+v", m)
	}
}

// B9: what was shown although the vendor answered 503, or nothing, or the server
// died before it heard the answer, is taken back like any other alert.
func TestWithdraw_B9_WhatMayHaveBeenShown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(h *harness, row push.Delivery){
		"unavailable": func(h *harness, row push.Delivery) {
			h.settle(row, push.Verdict{Class: push.Backoff, Reason: "UNAVAILABLE"})
		},
		"no answer": func(h *harness, row push.Delivery) {
			h.settle(row, push.Verdict{Class: push.Ambiguous, Reason: "no_answer"})
		},
		"the server died": func(h *harness, _ push.Delivery) {
			h.restart()
			check(h.t, h.app.Outbox().Recover(h.t.Context(), lane))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			tablet := h.newDevice(h.account, store.PlatformIOS)
			h.newAddress(tablet, "bb")
			_, held := h.startTask("one")
			d := h.request(held)
			row := h.takeOne()
			alert := h.message(row)
			end(h, row)
			h.answer(h.phone, d, "deny")
			got := h.deliver()[tablet.Installation]
			if len(got) != 1 || got[0].Payload.Kind != push.Withdraw || got[0].CollapseID != alert.CollapseID {
				t.Errorf("sent %q", said(got))
			}
		})
	}
}

// B5: withdrawals eat into nothing that a decision needs.
func TestWithdraw_B5_AfterManyADecisionStillRings(t *testing.T) {
	t.Parallel()
	const many = 300
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(tablet, "bb")
	withdrawals := 0
	for i := range many {
		_, held := h.startTask(fmt.Sprint(i))
		d := h.numbered(held, i)
		h.deliver()
		h.answer(h.phone, d, "deny")
		withdrawals += len(h.deliver()[tablet.Installation])
		_, err := h.app.FailTask(t.Context(), h.agent, app.FailTask{Held: held, Failure: task.Failure{Code: "done"}})
		check(t, err)
		h.deliver()
	}
	if withdrawals != many {
		t.Errorf("%d withdrawals", withdrawals)
	}
	_, held := h.startTask("last")
	h.numbered(held, many)
	if got := h.deliver()[tablet.Installation]; len(got) != 1 || got[0].Payload.Kind != push.DecisionRequired {
		t.Errorf("sent %q", said(got))
	}
}

// B20: whatever the order in which things are handled on three devices, the
// last number each was sent with anything left is the server's.
func TestWithdraw_B20_TheBadgeIsTheServersCount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		h := newHarness(t)
		r := rand.New(rand.NewPCG(seed, 20))
		devices := []device{h.phone, h.newDevice(h.account, store.PlatformIOS), h.newDevice(h.account, store.PlatformIOS)}
		for i, d := range devices {
			h.newAddress(d, fmt.Sprintf("a%d", i))
		}
		_, held := h.startTask("one")
		var open []decision.State
		for i := range 5 {
			open = append(open, h.numbered(held, i))
			if r.IntN(2) == 0 {
				h.deliver()
			}
		}
		r.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for len(open) > 0 {
			h.answer(devices[r.IntN(3)], open[0], "deny")
			open = open[1:]
			for device, sent := range h.deliver() {
				for _, m := range sent {
					if m.Payload.Badge.Count != uint32(len(open)) {
						t.Errorf("seed %d: %s was told %d of %d", seed, device, m.Payload.Badge.Count, len(open))
					}
				}
			}
		}
	}
}
