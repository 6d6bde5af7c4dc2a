package device_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const app = "com.example.inbox"

func alert(id, tag string) device.Notification {
	return device.Notification{ID: id, App: app, Tag: tag, Alert: true, Title: "title " + id}
}

// step is one thing that happens to a phone.
type step func(*device.Device)

func deliver(n device.Notification) step { return func(d *device.Device) { d.Deliver(n) } }

func TestDevice_Screen(t *testing.T) {
	t.Parallel()
	quiet := func(n device.Notification) device.Notification { n.Level = device.Passive; return n }
	badge := func(n device.Notification, to int) device.Notification { n.Badge = new(to); return n }
	for name, tc := range map[string]struct {
		steps  []step
		kinds  []device.Kind
		shown  []string // titles, oldest first
		badge  int
		rings  int
		resend bool // of the last event
	}{
		"a new alert rings": {
			steps: []step{deliver(alert("1", "a"))},
			kinds: []device.Kind{device.Rang}, shown: []string{"title 1"}, rings: 1,
		},
		"a resend of the same delivery replaces and does not ring": {
			steps: []step{deliver(alert("1", "a")), deliver(alert("1", "a"))},
			kinds: []device.Kind{device.Rang, device.Replaced}, shown: []string{"title 1"}, rings: 1, resend: true,
		},
		"another delivery under the tag replaces": {
			steps: []step{deliver(alert("1", "a")), deliver(alert("2", "b")), deliver(alert("3", "a"))},
			kinds: []device.Kind{device.Rang, device.Rang, device.Replaced},
			shown: []string{"title 2", "title 3"}, rings: 2,
		},
		"without a tag nothing is replaced, even under the same ID": {
			steps: []step{deliver(alert("1", "")), deliver(alert("1", ""))},
			kinds: []device.Kind{device.Rang, device.Rang}, shown: []string{"title 1", "title 1"}, rings: 2,
		},
		"a dismissed alert comes back as new": {
			steps: []step{
				deliver(alert("1", "a")),
				func(d *device.Device) { _ = d.Dismiss(app, "a") },
				deliver(alert("2", "a")),
			},
			kinds: []device.Kind{device.Rang, device.Dismissed, device.Rang}, shown: []string{"title 2"}, rings: 2,
		},
		"passive replaces without a ring": {
			steps: []step{deliver(alert("1", "a")), deliver(quiet(alert("2", "a")))},
			kinds: []device.Kind{device.Rang, device.Replaced}, shown: []string{"title 2"}, rings: 1,
		},
		"passive appears without a ring": {
			steps: []step{deliver(quiet(alert("1", "a")))},
			kinds: []device.Kind{device.Appeared}, shown: []string{"title 1"},
		},
		"the badge is absolute": {
			steps: []step{deliver(badge(alert("1", "a"), 5)), deliver(badge(alert("2", "b"), 3))},
			kinds: []device.Kind{device.Badged, device.Rang, device.Badged, device.Rang},
			shown: []string{"title 1", "title 2"}, badge: 3, rings: 2,
		},
		"badge 0 clears all that was delivered": {
			steps: []step{
				deliver(alert("1", "a")), deliver(alert("2", "b")),
				deliver(device.Notification{ID: "3", App: app, Badge: new(0)}),
			},
			kinds: []device.Kind{device.Rang, device.Rang, device.Badged, device.Removed, device.Removed}, rings: 2,
		},
		"badge 0 beside an alert leaves that alert": {
			steps: []step{deliver(alert("1", "a")), deliver(badge(alert("2", "b"), 0))},
			kinds: []device.Kind{device.Rang, device.Badged, device.Removed, device.Rang},
			shown: []string{"title 2"}, rings: 2,
		},
		"a badge alone shows nothing": {
			steps: []step{deliver(device.Notification{ID: "1", App: app, Badge: new(2)})},
			kinds: []device.Kind{device.Badged}, badge: 2,
		},
		"a background push shows nothing": {
			steps: []step{deliver(device.Notification{ID: "1", App: app, Wake: true})},
			kinds: []device.Kind{device.Received},
		},
		"an app that is not installed ignores": {
			steps: []step{deliver(device.Notification{ID: "1", App: "com.example.other", Alert: true})},
			kinds: []device.Kind{device.Ignored},
		},
		"uninstalling clears the screen": {
			steps: []step{deliver(alert("1", "a")), func(d *device.Device) { d.Uninstall(app) }, deliver(alert("2", "a"))},
			kinds: []device.Kind{device.Rang, device.Removed, device.Ignored}, rings: 1,
		},
		"the app removes its own by key": {
			steps: []step{
				deliver(alert("1", "a")), deliver(alert("2", "")),
				func(d *device.Device) { d.Remove(app, "2", "unknown") },
			},
			kinds: []device.Kind{device.Rang, device.Rang, device.Removed}, shown: []string{"title 1"}, rings: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := device.New(device.Config{Name: "phone"})
			if err := d.Install(app, nil); err != nil {
				t.Fatal(err)
			}
			for _, s := range tc.steps {
				s(d)
			}
			events := d.History().All()
			var kinds []device.Kind
			for _, e := range events {
				kinds = append(kinds, e.Kind)
			}
			if diff := cmp.Diff(tc.kinds, kinds); diff != "" {
				t.Error("events:", diff)
			}
			var shown []string
			for _, s := range d.Shown(app) {
				shown = append(shown, s.Title)
			}
			if diff := cmp.Diff(tc.shown, shown); diff != "" {
				t.Error("screen:", diff)
			}
			if got := d.Badge(app); got != tc.badge {
				t.Errorf("badge = %d, want %d", got, tc.badge)
			}
			if got := d.Rings(app); got != tc.rings {
				t.Errorf("rings = %d, want %d", got, tc.rings)
			}
			if last := events[len(events)-1]; last.Resend != tc.resend {
				t.Errorf("last event's resend = %v, want %v", last.Resend, tc.resend)
			}
		})
	}
}

// program is an app that answers from the lock screen and clears what was
// handled elsewhere.
type program struct {
	phone    *device.Device
	received chan string
	acted    []string
	hold     chan struct{}
}

func (p *program) Receive(ctx context.Context, n device.Notification) {
	if p.hold != nil {
		select {
		case <-p.hold:
		case <-ctx.Done():
			return
		}
	}
	if n.Title == "" {
		p.phone.Remove(app, "a")
	}
	p.received <- n.ID
}

func (p *program) Open(context.Context, device.Notification) error { return nil }

func (p *program) Act(_ context.Context, n device.Notification, action string) error {
	p.acted = append(p.acted, n.ID+" "+action)
	if action == "approve" {
		return errors.New("needs review")
	}
	return nil
}

func phone(t *testing.T, cfg device.Config) (*device.Device, *program) {
	t.Helper()
	d := device.New(cfg)
	t.Cleanup(d.Close)
	p := &program{phone: d, received: make(chan string, 100)}
	if err := d.Install(app, p); err != nil {
		t.Fatal(err)
	}
	return d, p
}

func TestDevice_BackgroundPushReachesTheApp(t *testing.T) {
	t.Parallel()
	d, p := phone(t, device.Config{})
	d.Deliver(alert("1", "a"))
	d.Deliver(device.Notification{ID: "2", App: app, Wake: true})
	if got := <-p.received; got != "2" {
		t.Errorf("the app received %q, want only the background push", got)
	}
	e, err := d.History().Find(t.Context(), func(e device.Event) bool { return e.Kind == device.Removed })
	if err != nil || e.Key != "a" || e.Reason != device.ByApp {
		t.Errorf("removal = %+v, %v", e, err)
	}
}

func TestDevice_AppReceivesInOrder(t *testing.T) {
	t.Parallel()
	d, p := phone(t, device.Config{})
	want := []string{"a", "b", "c", "d", "e"}
	for _, id := range want {
		n := alert(id, "")
		n.Mutable = true
		d.Deliver(n)
	}
	var got []string
	for range want {
		got = append(got, <-p.received)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDevice_GesturesReachTheAppOnce(t *testing.T) {
	t.Parallel()
	d, p := phone(t, device.Config{})
	d.Deliver(alert("1", "a"))
	d.Deliver(alert("2", "b"))
	d.Deliver(alert("3", "c"))
	if err := d.Act(t.Context(), app, "a", "deny"); err != nil {
		t.Error(err)
	}
	if err := d.Act(t.Context(), app, "a", "deny"); !errors.Is(err, device.ErrNotShown) {
		t.Errorf("second tap = %v, want ErrNotShown", err)
	}
	if err := d.Act(t.Context(), app, "b", "approve"); err == nil {
		t.Error("the app's refusal did not reach the person")
	}
	if err := d.Open(t.Context(), app, "c"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"1 deny", "2 approve"}, p.acted); diff != "" {
		t.Error(diff)
	}
	if len(d.Shown(app)) != 0 {
		t.Errorf("tapped alerts stayed: %v", d.Shown(app))
	}
	var gestures []device.Event
	for _, e := range d.History().All() {
		if e.Kind == device.Acted || e.Kind == device.Opened {
			gestures = append(gestures, device.Event{Kind: e.Kind, Key: e.Key, Action: e.Action, Failed: e.Failed})
		}
	}
	want := []device.Event{
		{Kind: device.Acted, Key: "a", Action: "deny"},
		{Kind: device.Acted, Key: "b", Action: "approve", Failed: "needs review"},
		{Kind: device.Opened, Key: "c"},
	}
	if diff := cmp.Diff(want, gestures); diff != "" {
		t.Error(diff)
	}
}

func TestDevice_CloseEndsTheCallbackAndDropsTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := phone(t, device.Config{})
		p.hold = make(chan struct{})
		d.Deliver(device.Notification{ID: "1", App: app, Wake: true})
		d.Deliver(device.Notification{ID: "2", App: app, Wake: true})
		synctest.Wait()
		d.Close()
		if len(p.received) != 0 {
			t.Errorf("received %d pushes after Close", len(p.received))
		}
		if err := d.Install(app, nil); !errors.Is(err, device.ErrClosed) {
			t.Errorf("Install after Close = %v", err)
		}
	})
}

func TestDevice_LogIsMachineReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)
	d, _ := phone(t, device.Config{Name: "Ann's phone", Log: &out, Now: func() time.Time { return at }})
	n := alert("1", "a")
	n.Badge = new(2)
	d.Deliver(n)
	var got []device.Event
	for dec := json.NewDecoder(&out); dec.More(); {
		var e device.Event
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	at = at.Truncate(time.Microsecond)
	want := []device.Event{
		{Seq: 0, Time: at, Device: "Ann's phone", App: app, Kind: device.Badged, Badge: new(2)},
		{
			Seq: 1, Time: at, Device: "Ann's phone", App: app, Kind: device.Rang,
			Key: "a", ID: "1", Tag: "a", Title: "title 1", Level: device.Active,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
