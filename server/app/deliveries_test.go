package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

const lane = string(push.KindAPNs)

// take claims rows for a minute.
func (h *harness) take(n int) []push.Delivery {
	h.t.Helper()
	rows, err := h.app.Outbox().Claim(context.Background(), lane, n, time.Minute)
	check(h.t, err)
	return rows
}

// takeOne claims the only row that is due.
func (h *harness) takeOne() push.Delivery {
	h.t.Helper()
	rows := h.take(10)
	if len(rows) != 1 {
		h.t.Fatalf("%d rows are due", len(rows))
	}
	return rows[0]
}

// message renders a claimed row that should be sent.
func (h *harness) message(d push.Delivery) push.Message {
	h.t.Helper()
	m, fresh, err := h.app.Outbox().Fresh(context.Background(), d)
	check(h.t, err)
	if !fresh.Send() {
		h.t.Fatalf("not sent: %+v", fresh)
	}
	return m
}

// settle reports a vendor's answer to a claimed row.
func (h *harness) settle(d push.Delivery, v push.Verdict) push.Delivery {
	h.t.Helper()
	var sent push.Address
	h.view(d.Account, func(tx *store.Read) error {
		sent, _ = tx.Address(d.Address)
		return nil
	})
	check(h.t, h.app.Outbox().Finish(context.Background(), []worker.Result{{Delivery: d, Verdict: v, Sent: sent, SentAt: h.clock.Now()}}))
	return h.delivery(d)
}

// skip reports that a claimed row was not worth sending.
func (h *harness) skip(d push.Delivery, why outbox.Freshness) push.Delivery {
	h.t.Helper()
	check(h.t, h.app.Outbox().Finish(context.Background(), []worker.Result{{Delivery: d, Skip: why}}))
	return h.delivery(d)
}

func (h *harness) delivery(d push.Delivery) push.Delivery {
	h.t.Helper()
	h.view(d.Account, func(tx *store.Read) error {
		var err error
		d, err = tx.Delivery(d.ID)
		return err
	})
	return d
}

// nextDue is when the lane has its next row.
func (h *harness) nextDue() (time.Time, bool) {
	h.t.Helper()
	at, ok, err := h.app.Outbox().NextDue(context.Background(), lane)
	check(h.t, err)
	return at, ok
}

func TestOutbox_ClaimSendFinish(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	if _, ok := h.nextDue(); ok {
		t.Error("an empty lane is due")
	}
	a := h.newAddress(h.phone, "aa")
	h.update(h.account, func(tx *store.Tx) error { return tx.PutSettings(store.Settings{Level: store.LevelFull}) })
	h.link(func(l *store.AgentLink) { l.LockScreen = true })
	s, held := h.startTask("one")
	d := h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
	if at, ok := h.nextDue(); !ok || !at.Equal(h.clock.Now()) {
		t.Errorf("due at %v, %v", at, ok)
	}
	row := h.takeOne()
	if len(h.take(10)) != 0 {
		t.Error("a claimed row was claimed again")
	}
	if at, ok := h.nextDue(); !ok || !at.Equal(h.clock.Now().Add(time.Minute)) {
		t.Errorf("its lease ends at %v, %v", at, ok)
	}
	m := h.message(row)
	if m.Address.ID != a.ID || m.Payload.Account != "tag "+h.account || m.Payload.Decision != d.ID || m.Payload.Version != 1 ||
		m.Payload.Badge.Count != 1 || m.Payload.AsOf == "" || len(m.Payload.Asked) != 64 || !m.Payload.ExpiresAt.Equal(d.ExpireTime) {
		t.Errorf("payload %+v", m.Payload)
	}
	if !m.Payload.HasAction(push.Approve) || !m.Payload.HasAction(push.Deny) {
		t.Errorf("buttons %+v", m.Payload.Actions)
	}
	for _, action := range m.Payload.Actions {
		if want := fmt.Sprintf("tap %s %s %s 1", h.phone.Installation, d.ID, action.Verb); action.Token != want {
			t.Errorf("token %q", action.Token)
		}
	}
	w := h.watch(s.Thread)
	got := h.settle(row, push.Verdict{Class: push.OK})
	if got.State != push.Accepted || got.Attempt != 1 || !got.AcceptedAt.Equal(h.clock.Now()) {
		t.Errorf("accepted as %+v", got)
	}
	w.expect("an accepted push", effects{Commits: 1, Badge: store.Counters{OpenDecisions: 1}})
	if _, ok := h.nextDue(); ok {
		t.Error("an accepted row is due again")
	}
}

// R23 and the level: what a notification shows and offers.
func TestOutbox_WhatIsOffered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class     decision.Class
		level     store.ContentLevel
		optOut    bool
		probation bool
		approve   bool
		shows     string
	}{
		"all of it":    {class: 2, level: store.LevelFull, approve: true, shows: "name: it"},
		"class 3":      {class: 3, level: store.LevelFull, shows: "name: it"},
		"no opt-in":    {class: 2, level: store.LevelFull, optOut: true, shows: "name: it"},
		"on probation": {class: 2, level: store.LevelFull, probation: true, shows: "name: it"},
		"title only":   {class: 2, level: store.LevelTitle, shows: "one"},
		"ids only":     {class: 2, level: store.LevelIDs, shows: ""},
		"never chosen": {class: 2, shows: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			h.newAddress(h.phone, "aa")
			if c.level != 0 {
				h.update(h.account, func(tx *store.Tx) error { return tx.PutSettings(store.Settings{Level: c.level}) })
			}
			h.link(func(l *store.AgentLink) { l.LockScreen = !c.optOut })
			if c.probation {
				h.alterDevice(h.phone, func(i *store.Installation) {
					i.State, i.ProbationEnd = store.InstallationProbation, h.clock.Now().Add(time.Hour)
				})
			}
			_, held := h.startTask("one")
			h.request(held, func(r *app.RequestDecision) { r.Items[0] = action("it", c.class) })
			m := h.message(h.takeOne())
			if m.Payload.HasAction(push.Approve) != c.approve || !m.Payload.HasAction(push.Deny) {
				t.Errorf("buttons %+v", m.Payload.Actions)
			}
			if text := m.Text.Title + "\n" + m.Text.Body; !strings.Contains(text, c.shows) ||
				c.level != store.LevelFull && strings.Contains(text, "May I?") ||
				c.level < store.LevelTitle && (strings.Contains(text, "one") || strings.Contains(text, "Builder")) {
				t.Errorf("the lock screen says %q", text)
			}
		})
	}
}

// R21 and R22: what is true right before the send decides, and the row says why
// it was not sent.
func TestOutbox_ReadAgainBeforeTheSend(t *testing.T) {
	t.Parallel()
	ask := func(h *harness, held app.Held) decision.State {
		return h.request(held, func(c *app.RequestDecision) { c.Timeout = time.Hour })
	}
	for name, c := range map[string]struct {
		result bool // the row is about a result, else about a question
		change func(h *harness, held app.Held, d decision.State)
		want   outbox.Freshness
	}{
		"answered":  {false, func(h *harness, _ app.Held, d decision.State) { h.answer(h.phone, d, "deny") }, outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonHandled}},
		"withdrawn": {false, func(h *harness, _ app.Held, d decision.State) { h.withdraw(d.ID) }, outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonHandled}},
		"task stopped": {false, func(h *harness, held app.Held, _ decision.State) {
			h.stop("k", held.Task)
			check(h.t, workVerbs["ReleaseTask"](h.app, h.agent, held))
		}, outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonHandled}},
		"past its deadline": {false, func(h *harness, _ app.Held, _ decision.State) { h.clock.Advance(time.Hour) }, outbox.Freshness{State: push.Expired, Reason: outbox.ReasonDeadline}},
		"result read": {true, func(h *harness, held app.Held, _ decision.State) {
			_, err := h.app.MarkRead(context.Background(), h.phone.Principal, h.task(held.Task).Thread, thread.ReadMark{Position: 9})
			check(h.t, err)
		}, outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonHandled}},
		"address gone": {true, func(h *harness, _ app.Held, _ decision.State) {
			h.update(h.account, func(tx *store.Tx) error {
				a, err := tx.Addresses()
				if err != nil {
					return err
				}
				return tx.DeleteAddress(a[0])
			})
		}, outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonAddressGone}},
		"another account's now": {false, func(h *harness, _ app.Held, _ decision.State) {
			h.newAddress(h.newDevice(h.newAccount(), store.PlatformIOS), "aa")
		}, outbox.Freshness{State: push.DeadAddress, Reason: outbox.ReasonMoved}},
		"gone and come back": {false, func(h *harness, _ app.Held, _ decision.State) {
			h.newAddress(h.newDevice(h.newAccount(), store.PlatformIOS), "aa")
			h.newAddress(h.phone, "aa")
		}, outbox.Freshness{}},
		"rotated":  {false, func(h *harness, _ app.Held, _ decision.State) { h.newAddress(h.phone, "bb") }, outbox.Freshness{}},
		"still so": {true, func(*harness, app.Held, decision.State) {}, outbox.Freshness{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			_, held := h.startTask("one")
			var d decision.State
			if c.result {
				h.newAddress(h.phone, "aa")
				_, err := h.app.CompleteTask(t.Context(), h.agent, app.CompleteTask{Held: held, Result: &task.Result{Summary: "Built."}})
				check(t, err)
			} else {
				h.newAddress(h.phone, "aa")
				d = ask(h, held)
			}
			row := h.takeOne()
			c.change(h, held, d)
			m, fresh, err := h.app.Outbox().Fresh(t.Context(), row)
			check(t, err)
			if diff := cmp.Diff(c.want, fresh); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if fresh.Send() {
				if want := map[bool]string{true: "bb", false: "aa"}[name == "rotated"]; m.Address.Token != want {
					t.Errorf("sent to %q", m.Address.Token)
				}
				return
			}
			if diff := cmp.Diff(push.Message{}, m); diff != "" {
				t.Errorf("something was rendered:\n%s", diff)
			}
			if got := h.skip(row, fresh); got.State != c.want.State || got.Reason != c.want.Reason || got.Attempt != 0 {
				t.Errorf("ended as %v, %q, %d attempts", got.State, got.Reason, got.Attempt)
			}
			for _, again := range h.take(10) {
				// The alert was in a worker's hands when its subject was closed.
				if again.Kind != push.Withdraw {
					t.Error("the row is due again")
				}
				_, fresh, err := h.app.Outbox().Fresh(t.Context(), again)
				check(t, err)
				if diff := cmp.Diff(outbox.Freshness{State: push.Superseded, Reason: outbox.ReasonNotShown}, fresh); diff != "" {
					t.Errorf("the withdrawal of what was not sent: (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// A row that waited past its deadline ends at the claim, and does not hide the
// ones behind it.
func TestOutbox_ClaimLooksPastDeadRows(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	for i := range 20 {
		h.request(held, func(c *app.RequestDecision) {
			c.Name, c.Timeout, c.Items = fmt.Sprint(i), time.Minute, []decision.Item{action(fmt.Sprint(i), 2)}
		})
	}
	h.clock.Advance(time.Minute)
	h.due()
	s := h.createTask("two")
	claim, found, err := h.app.ClaimTask(t.Context(), h.agent, app.ClaimTask{Claim: app.ClaimOptions{ID: "c"}, Task: s.ID})
	if err != nil || !found {
		t.Fatal(found, err)
	}
	alive := h.request(heldBy(claim))
	rows := h.take(2)
	if len(rows) != 1 || rows[0].Decision != alive.ID {
		t.Fatalf("claimed %d rows", len(rows))
	}
	h.view(h.account, func(tx *store.Read) error {
		all, err := tx.Deliveries()
		for _, d := range all {
			if d.ID != rows[0].ID && d.Key() != "" && (d.State != push.Expired || d.Reason != outbox.ReasonDeadline) {
				t.Errorf("a late row is %v, %q", d.State, d.Reason)
			}
		}
		return err
	})
}

// In the last second before its deadline a question still rings. Tokens count whole
// seconds, so a button would be over before it could be pressed.
func TestOutbox_RingsInTheLastSecondWithoutButtons(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	h.clock.Advance(500 * time.Millisecond)
	h.request(held, func(c *app.RequestDecision) { c.Timeout = 2 * time.Second })
	row := h.takeOne()
	if m := h.message(row); len(m.Payload.Actions) == 0 {
		t.Error("no buttons two seconds before the deadline")
	}
	h.clock.Advance(1700 * time.Millisecond)
	if m := h.message(row); len(m.Payload.Actions) != 0 {
		t.Errorf("buttons %+v in the last second", m.Payload.Actions)
	}
}
