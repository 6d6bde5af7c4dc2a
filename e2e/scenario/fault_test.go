package scenario_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/e2e/stack"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// told waits until the row of a subject's delivery to the phone says something.
func (h *house) told(subject, pattern string) {
	h.t.Helper()
	want := regexp.MustCompile(pattern)
	ctx := h.ctx()
	tick := time.NewTicker(150 * time.Millisecond) // calls have a rate
	defer tick.Stop()
	var said []string
	for {
		res, err := h.owner.API.Deliveries.ListDeliveries(ctx, &v1.ListDeliveriesRequest{SubjectId: subject})
		if err != nil {
			h.t.Fatalf("no row says %q but %q: %v", pattern, said, err)
		}
		said = nil
		for _, d := range res.GetDeliveries() {
			said = append(said, d.GetSentence())
		}
		if slices.ContainsFunc(said, want.MatchString) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			h.t.Fatalf("no row says %q but %q", pattern, said)
		}
	}
}

// A fault that was scripted over the control address of the phones is what the
// server's own list of deliveries gives as the reason, and what the phone got all
// the same rings once.
func TestFault_ScriptedOverTheControlAddressIsInTheDeliveryRow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	rung := 0
	for _, c := range []struct {
		name  string
		fault map[string]any
		says  string
		rings bool
	}{
		{"answered late", map[string]any{"delay": "300ms"}, `^accepted by Apple`, true},
		{"stored, then 503", map[string]any{"fault": "unavailable-stored"}, `^accepted by Apple`, true},
		{"stored, then no answer", map[string]any{"fault": "reset-stored"}, `^accepted by Apple`, true},
		{"refused", map[string]any{"fault": "too-large"}, `^not delivered: Apple refused it \(PayloadTooLarge\)$`, false},
		{"asked to wait", map[string]any{"fault": "too-many", "retry_after": "600"}, `^waiting to be sent again: Apple answered TooManyRequests, after 1 attempt$`, false},
		{"gone", map[string]any{"fault": "unregistered"}, `Apple says the address is dead \(Unregistered\)$`, false},
	} {
		h.phones.Script(c.fault)
		d, err := h.started(c.name).Ask(h.ctx(), writeReport("write"))
		h.check(err)
		h.told(d.GetId(), c.says)
		if c.rings {
			rung++
		}
		h.exactly(rung)
	}
	if got := h.phones.Given(); slices.ContainsFunc(got, func(n int) bool { return n != 1 }) {
		t.Errorf("the faults were given %v times", got)
	}
	why := slices.ContainsFunc(h.phones.Log(), func(e stack.Entry) bool {
		return e.Phone == "phone" && e.What == "refused" && strings.Contains(e.Why, "unregistered; 410 Unregistered")
	})
	if !why {
		t.Error("the log of the phones does not say why the last push was refused")
	}

	// The app registers when it is opened, and is called again.
	h.phones.Set("launch")
	d, err := h.started("again").Ask(h.ctx(), writeReport("write"))
	h.check(err)
	h.told(d.GetId(), `^accepted by Apple`)
	h.exactly(rung + 1)
}

// A thread that is open on a phone is reported as presence: the next question in
// it waits a little on that phone.
func TestFault_AnOpenThreadOnAPhoneIsPresence(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := h.started("report")
	_, err := w.Ask(h.ctx(), writeReport("first"))
	h.check(err)
	h.phones.Open()
	other := writeReport("second")
	other.Items[0].Action.ArgsJson = []byte(`{"path":"other.md"}`)
	next, err := w.Ask(h.ctx(), other)
	h.check(err)
	h.told(next.GetId(), `this phone was the one in your hand$`)
}
