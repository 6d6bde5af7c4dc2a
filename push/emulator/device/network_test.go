package device_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// android is a phone whose time is synctest's.
func android(t *testing.T, program device.App) *device.Device {
	t.Helper()
	d := device.New(device.Config{Name: "pixel", System: device.Android})
	t.Cleanup(d.Close)
	if err := d.Install(app, program); err != nil {
		t.Fatal(err)
	}
	return d
}

func data(id string) device.Notification {
	return device.Notification{ID: id, App: app, Wake: true, Data: map[string]string{"id": id}}
}

func accept(t *testing.T, d *device.Device, n device.Notification, o device.FCM) {
	t.Helper()
	if err := d.AcceptFCM(n, o); err != nil {
		t.Fatal(err)
	}
}

// outcomes lists what became of messages: "id" for a received one, "id reason" for
// a lost one, the kind of what has no message.
func outcomes(d *device.Device, skip ...device.Kind) []string {
	var out []string
	skipped := map[device.Kind]bool{device.WentOffline: true, device.WentOnline: true, device.Dozed: true, device.Woke: true}
	for _, k := range skip {
		skipped[k] = true
	}
	for _, e := range d.History().All() {
		switch {
		case skipped[e.Kind]:
		case e.Kind == device.Received:
			out = append(out, e.ID)
		case e.Kind == device.Lost:
			out = append(out, e.ID+" "+e.Reason)
		case e.ID != "":
			out = append(out, e.ID+" "+string(e.Kind))
		default:
			out = append(out, string(e.Kind))
		}
	}
	return out
}

func TestDevice_FCMStore(t *testing.T) {
	t.Parallel()
	key := func(k string) device.FCM { return device.FCM{CollapseKey: k} }
	for name, tc := range map[string]struct {
		run  func(*testing.T, *device.Device)
		want []string
	}{
		"messages wait for the network in order": {
			func(t *testing.T, d *device.Device) {
				accept(t, d, data("1"), device.FCM{})
				accept(t, d, data("2"), device.FCM{High: true})
				d.SetOnline(true)
			}, []string{"1", "2"},
		},
		"a collapse key keeps the newest": {
			func(t *testing.T, d *device.Device) {
				accept(t, d, data("1"), key("sync"))
				accept(t, d, data("2"), device.FCM{})
				accept(t, d, data("3"), key("sync"))
				d.SetOnline(true)
			}, []string{"1 collapse", "2", "3"},
		},
		"a fifth collapse key pushes the oldest out": {
			func(t *testing.T, d *device.Device) {
				for i := range 5 {
					accept(t, d, data(fmt.Sprint(i)), key(fmt.Sprint("key", i)))
				}
				d.SetOnline(true)
			}, []string{"0 keys", "1", "2", "3", "4"},
		},
		"TTL 0 is not stored": {
			func(t *testing.T, d *device.Device) {
				n := data("1")
				n.NowOrNever = true
				accept(t, d, n, device.FCM{})
				d.SetOnline(true)
			}, []string{"1 offline"},
		},
		"a message runs out": {
			func(t *testing.T, d *device.Device) {
				n := data("1")
				n.Expires = time.Now().Add(3500 * time.Millisecond)
				accept(t, d, n, device.FCM{})
				n = data("2")
				n.Expires = time.Now().Add(3501 * time.Millisecond)
				accept(t, d, n, device.FCM{})
				pass(3500 * time.Millisecond)
				d.SetOnline(true)
			}, []string{"1 expiry", "2"},
		},
		"after four weeks without a TTL": {
			func(t *testing.T, d *device.Device) {
				accept(t, d, data("1"), device.FCM{})
				pass(28 * 24 * time.Hour)
				d.Tick()
			}, []string{"1 expiry"},
		},
		"a phone away for more than a month is told": {
			func(t *testing.T, d *device.Device) {
				accept(t, d, data("1"), device.FCM{})
				pass(31 * 24 * time.Hour)
				d.SetOnline(true)
			}, []string{"1 expiry", "deleted"},
		},
		"nothing reaches an app that was stopped": {
			func(t *testing.T, d *device.Device) {
				d.SetOnline(true)
				d.ForceQuit(app)
				accept(t, d, data("1"), device.FCM{High: true})
				d.Launch(app)
				accept(t, d, data("2"), device.FCM{})
			}, []string{"quit", "1 force-quit", "launched", "2"},
		},
		"an app that is not there": {
			func(t *testing.T, d *device.Device) {
				d.Uninstall(app)
				accept(t, d, data("1"), device.FCM{})
			}, []string{"1 ignored"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := android(t, nil)
				d.SetOnline(false)
				tc.run(t, d)
				if diff := cmp.Diff(tc.want, outcomes(d, device.Stored)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// pass lets time go by in a bubble, where a timer is the only clock.
func pass(d time.Duration) { <-time.After(d) }

// TestDevice_FCMDeletesAboveAHundred: one message too many and the app has to read
// everything again.
func TestDevice_FCMDeletesAboveAHundred(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &shower{}
		d := android(t, p)
		d.SetOnline(false)
		for i := range 100 {
			accept(t, d, data(fmt.Sprint(i)), device.FCM{})
		}
		accept(t, d, data("nudge"), device.FCM{CollapseKey: "sync"})
		if n := len(d.Stored(app)); n != 101 {
			t.Fatalf("stored = %d, want all 101", n)
		}
		accept(t, d, data("too many"), device.FCM{})
		if n := len(d.Stored(app)); n != 0 {
			t.Fatalf("stored = %d, want none", n)
		}
		accept(t, d, data("after"), device.FCM{})
		d.SetOnline(true)
		synctest.Wait()
		if diff := cmp.Diff([]string{"got after", "deleted"}, p.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDevice_FCMThrottlesCollapsible(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := android(t, nil)
		for i := range 23 {
			accept(t, d, data(fmt.Sprint(i)), device.FCM{CollapseKey: "sync"})
		}
		if got := len(outcomes(d, device.Stored, device.Lost)); got != 20 {
			t.Errorf("burst = %d, want 20", got)
		}
		accept(t, d, data("plain"), device.FCM{})
		at0 := data("now")
		at0.NowOrNever = true
		accept(t, d, at0, device.FCM{CollapseKey: "sync"})
		pass(3*time.Minute - 1)
		d.Tick()
		if got := len(d.Stored(app)); got != 1 {
			t.Errorf("stored = %d before the refill, want 1", got)
		}
		pass(1)
		d.Tick()
		got := outcomes(d, device.Stored)[20:]
		want := []string{"20 collapse", "21 collapse", "plain", "now", "22"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDevice_FCMRateOfOneDevice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := android(t, nil)
		for range 240 {
			accept(t, d, data("1"), device.FCM{})
		}
		if err := d.AcceptFCM(data("2"), device.FCM{}); !errors.Is(err, device.ErrDeviceRate) {
			t.Errorf("message 241 in a minute = %v, want ErrDeviceRate", err)
		}
		pass(time.Minute)
		for minute := range 20 {
			for range 238 {
				accept(t, d, data("3"), device.FCM{})
			}
			if minute < 19 {
				pass(time.Minute)
			}
		}
		if err := d.AcceptFCM(data("4"), device.FCM{}); !errors.Is(err, device.ErrDeviceRate) {
			t.Errorf("message 5001 in an hour = %v, want ErrDeviceRate", err)
		}
		pass(time.Hour)
		accept(t, d, data("5"), device.FCM{})
	})
}

// shower is an Android app: it shows data messages by tag, cancels on "clear", and
// keeps silent on "quiet".
type shower struct {
	phone *device.Device

	mu  sync.Mutex
	log []string
}

func (p *shower) note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, s)
}

func (p *shower) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log
}

func (p *shower) Receive(_ context.Context, n device.Notification) {
	switch tag := n.Data["tag"]; {
	case n.Data["clear"] != "":
		p.phone.Remove(app, n.Data["clear"])
	case tag != "":
		p.phone.Notify(device.Notification{App: app, ID: n.ID, Tag: tag, Title: n.Data["title"]})
	default:
		p.note("got " + n.ID)
	}
}
func (*shower) Open(context.Context, device.Notification) error        { return nil }
func (*shower) Act(context.Context, device.Notification, string) error { return nil }
func (p *shower) MessagesDeleted(context.Context)                      { p.note("deleted") }
func (p *shower) NotificationsSwitched(_ context.Context, allowed bool) {
	p.note(fmt.Sprint("allowed ", allowed))
}

func tagged(id, tag, title string) device.Notification {
	n := data(id)
	n.Data = map[string]string{"tag": tag, "title": title}
	return n
}

func withdrawal(id, tag string) device.Notification {
	n := data(id)
	n.Data = map[string]string{"clear": tag}
	return n
}

func titles(d *device.Device) []string {
	var out []string
	for _, s := range d.Shown(app) {
		out = append(out, s.Title)
	}
	return out
}

func TestDevice_AndroidAppDecidesWhatIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &shower{}
		d := android(t, p)
		p.phone = d
		for _, n := range []device.Notification{tagged("1", "a", "one"), tagged("2", "b", "two"), tagged("3", "a", "one again")} {
			accept(t, d, n, device.FCM{High: true})
		}
		synctest.Wait()
		if diff := cmp.Diff([]string{"two", "one again"}, titles(d)); diff != "" {
			t.Error(diff)
		}
		if n := d.Rings(app); n != 2 {
			t.Errorf("rings = %d, want 2", n)
		}
		d.SetBadge(app, 0) // clears nothing on Android
		accept(t, d, withdrawal("4", "b"), device.FCM{})
		synctest.Wait()
		if diff := cmp.Diff([]string{"one again"}, titles(d)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDevice_DozeHoldsNormalPriority is firebase/quickstart-android#100: a decision
// comes through, its withdrawal may wait.
func TestDevice_DozeHoldsNormalPriority(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &shower{}
		d := android(t, p)
		p.phone = d
		d.SetDoze(true)
		if !d.Dozing() {
			t.Error("a phone put to sleep is awake")
		}
		accept(t, d, tagged("1", "a", "decide"), device.FCM{High: true})
		accept(t, d, withdrawal("2", "a"), device.FCM{})
		synctest.Wait()
		if diff := cmp.Diff([]string{"decide"}, titles(d)); diff != "" {
			t.Error(diff)
		}
		d.Maintain()
		synctest.Wait()
		if got := titles(d); got != nil {
			t.Errorf("shown after the maintenance window = %v", got)
		}
		accept(t, d, tagged("3", "a", "result"), device.FCM{})
		d.SetDoze(false)
		synctest.Wait()
		if diff := cmp.Diff([]string{"result"}, titles(d)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestDevice_InvisibleHighPriorityIsDemoted: silent messages of high priority cost
// the app the way through Doze, and showing one wins it back.
func TestDevice_InvisibleHighPriorityIsDemoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &shower{}
		d := android(t, p)
		p.phone = d
		high := device.FCM{High: true}
		for range 5 {
			accept(t, d, withdrawal("silent", "a"), high)
			synctest.Wait()
		}
		d.SetDoze(true)
		accept(t, d, tagged("1", "a", "late"), high)
		synctest.Wait()
		if got := titles(d); got != nil {
			t.Errorf("shown in Doze = %v, want the message held", got)
		}
		d.Maintain()
		synctest.Wait() // it showed something
		accept(t, d, tagged("2", "b", "at once"), high)
		synctest.Wait()
		if diff := cmp.Diff([]string{"late", "at once"}, titles(d)); diff != "" {
			t.Error(diff)
		}
		for range 5 {
			accept(t, d, withdrawal("silent", "c"), high)
			synctest.Wait()
		}
		pass(7 * 24 * time.Hour) // forgotten
		accept(t, d, tagged("3", "c", "a week later"), high)
		synctest.Wait()
		if n := len(d.Shown(app)); n != 3 {
			t.Errorf("shown = %d, want 3", n)
		}
	})
}

func TestDevice_NotificationsSwitchedOff(t *testing.T) {
	t.Parallel()
	for _, system := range []device.System{device.IOS, device.Android} {
		t.Run(string(system), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &shower{}
				d := device.New(device.Config{System: system})
				p.phone = d
				defer d.Close()
				if err := d.Install(app, p); err != nil {
					t.Fatal(err)
				}
				d.Deliver(alert("1", "a"))
				d.SetNotifications(app, false)
				shown := len(d.Shown(app))
				if want := map[device.System]int{device.IOS: 1, device.Android: 0}[system]; shown != want {
					t.Errorf("shown after the switch = %d, want %d", shown, want)
				}
				n := alert("2", "b")
				n.Badge, n.Mutable = new(3), true
				d.Deliver(n)
				if d.Notify(alert("3", "c")) {
					t.Error("Notify reports something to see")
				}
				d.Deliver(data("4"))
				d.SetNotifications(app, true)
				d.SetNotifications(app, true) // no change
				synctest.Wait()
				if len(d.Shown(app)) != shown || d.Badge(app) != 0 {
					t.Errorf("shown = %d, badge = %d while off, want %d and 0", len(d.Shown(app)), d.Badge(app), shown)
				}
				if diff := cmp.Diff([]string{"allowed false", "got 4", "allowed true"}, p.all()); diff != "" {
					t.Error(diff)
				}
				if !d.NotificationsAllowed(app) {
					t.Error("NotificationsAllowed = false after the switch back")
				}
			})
		})
	}
}

// TestDevice_ForceQuitOnIOS: alerts and their extension go on, background pushes
// do not, a tap brings the app back (home-assistant/iOS#4304).
func TestDevice_ForceQuitOnIOS(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &shower{}
		d := device.New(device.Config{})
		p.phone = d
		defer d.Close()
		if err := d.Install(app, p); err != nil {
			t.Fatal(err)
		}
		d.ForceQuit(app)
		if !d.HasQuit(app) || d.HasQuit("other") {
			t.Error("the app that was ended is not the one that has quit")
		}
		d.Deliver(data("background"))
		woken := alert("woken", "a")
		woken.Wake = true
		d.Deliver(woken)
		changed := alert("changed", "b")
		changed.Mutable = true
		d.Deliver(changed)
		if err := d.Open(t.Context(), app, "a"); err != nil {
			t.Fatal(err)
		}
		d.Deliver(data("again"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"got changed", "got again"}, p.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDevice_OnlineAndItsHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := device.New(device.Config{})
		defer d.Close()
		from := time.Now()
		d.SetOnline(false)
		d.SetOnline(false)
		pass(time.Hour)
		if d.Online() || !d.LastOnline().Equal(from) {
			t.Errorf("online = %v, last = %v, want since %v", d.Online(), d.LastOnline(), from)
		}
		d.SetOnline(true)
		if !d.Online() || !d.LastOnline().Equal(time.Now()) {
			t.Errorf("online = %v, last = %v, want now", d.Online(), d.LastOnline())
		}
		if n := d.History().Len(); n != 2 {
			t.Errorf("events = %d, want 2", n)
		}
	})
}
