package app_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// told is what a list of deliveries says, without what only the store knows.
func (h *harness) told(c app.ListDeliveries) (lines []string, next string) {
	h.t.Helper()
	page, err := h.app.ListDeliveries(h.t.Context(), h.phone.Principal, c)
	check(h.t, err)
	for _, d := range page.Rows {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", d.Kind, d.Device.ID, d.State, d.Sentence))
	}
	return lines, page.Next
}

// B17: what was asked for and did not arrive says why, for each device.
func TestListDeliveries_B17_EveryRowSaysWhy(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	other := h.newDevice(h.account, store.PlatformIOS)
	h.newAddress(other, "bb")
	_, held := h.startTask("one")
	first := h.request(held)
	rows := h.take(10)
	h.clock.Advance(200 * time.Millisecond)
	for _, d := range rows {
		v := push.Verdict{Class: push.OK}
		if d.Address != "adr_"+h.phone.Installation {
			v = push.Verdict{Class: push.Bug, Reason: "BadTopic"}
		}
		h.settle(d, v)
	}
	second := h.request(held, func(c *app.RequestDecision) {
		c.Name, c.Items = "second", []decision.Item{action("second", 2)}
	})
	h.clock.Advance(3 * time.Second)
	h.answer(h.phone, second, "deny")
	got, _ := h.told(app.ListDeliveries{Subject: first.ID})
	want := map[string]bool{
		"decision_required " + h.phone.Installation + " accepted: accepted by Apple 0.2 s after it was asked": true,
		"decision_required " + other.Installation + " rejected: not delivered: Apple refused it (BadTopic)":   true,
	}
	if len(got) != 2 || !want[got[0]] || !want[got[1]] || got[0] == got[1] {
		t.Errorf("the first question: %q", got)
	}
	got, _ = h.told(app.ListDeliveries{Subject: second.ID})
	for _, line := range got {
		if line != "decision_required "+h.phone.Installation+" superseded: not sent: handled 3 s after it was asked" &&
			line != "decision_required "+other.Installation+" superseded: not sent: handled 3 s after it was asked" {
			t.Errorf("the second question: %q", line)
		}
	}
}

func TestListDeliveries_PagesNewestFirst(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	var want []string
	for i := range 7 {
		d := h.request(held, func(c *app.RequestDecision) {
			c.Name, c.Items = fmt.Sprint(i), []decision.Item{action(fmt.Sprint(i), 2)}
		})
		want = append([]string{d.ID}, want...)
		if i%2 == 0 { // two of them in the same microsecond
			h.clock.Advance(time.Microsecond)
		}
	}
	seen := map[string]bool{}
	var last time.Time
	c := app.ListDeliveries{Size: 3}
	for pages := 1; ; pages++ {
		page, err := h.app.ListDeliveries(t.Context(), h.phone.Principal, c)
		check(t, err)
		for _, d := range page.Rows {
			if seen[d.Decision] || !last.IsZero() && d.CreatedAt.After(last) {
				t.Errorf("%s comes again, or out of order", d.Decision)
			}
			seen[d.Decision], last = true, d.CreatedAt
		}
		if c.Page = page.Next; c.Page == "" {
			if pages != 3 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	for _, id := range want {
		if !seen[id] {
			t.Errorf("%s is missing", id)
		}
	}
}

func TestListDeliveries_Refuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for name, c := range map[string]struct {
		list app.ListDeliveries
		want error
	}{
		"no id":         {app.ListDeliveries{Subject: "nothing"}, store.ErrNotFound},
		"a thread":      {app.ListDeliveries{Subject: "thr_x"}, store.ErrNotFound},
		"a broken page": {app.ListDeliveries{Page: "%"}, &app.FieldError{Field: "page_token", Reason: "MALFORMED"}},
		"a short page":  {app.ListDeliveries{Page: "AAAA"}, &app.FieldError{Field: "page_token", Reason: "MALFORMED"}},
	} {
		_, err := h.app.ListDeliveries(t.Context(), h.phone.Principal, c.list)
		if field, ok := errors.AsType[*app.FieldError](err); ok {
			if diff := cmp.Diff(c.want, error(field)); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", name, diff)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := h.app.ListDeliveries(t.Context(), h.agent, app.ListDeliveries{}); !errors.Is(err, app.ErrWrongPrincipal) {
		t.Errorf("an agent: %v", err)
	}
}
