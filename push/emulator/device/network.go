package device

import (
	"context"
	"maps"
	"slices"
	"time"
)

// SetOnline gives the phone a network or takes it away. Coming back delivers what
// the vendors stored.
func (d *Device) SetOnline(online bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if online == !d.offline {
		return
	}
	d.flush() // what ran out before the change is gone
	d.offline = !online
	if !online {
		d.since = d.now()
		d.record(Event{Kind: WentOffline})
		return
	}
	d.record(Event{Kind: WentOnline})
	for _, in := range d.apps {
		in.apple.late = d.reorder
	}
	d.flush()
}

// SetReorder makes a phone that comes back get what Apple stored for an app behind
// the app's next push, or at the next Tick: Apple may reorder notifications sent to
// one device ("Sending notification requests to APNs").
func (d *Device) SetReorder(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reorder = on
}

// Online tells whether the phone has a network.
func (d *Device) Online() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.offline
}

// LastOnline is now for a phone with network, else when it lost it. Vendors forget
// tokens of phones that stay away.
func (d *Device) LastOnline() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.offline {
		return d.since
	}
	return d.now()
}

// SetDoze puts an Android phone to sleep or wakes it. Asleep it gets messages of
// high priority only (Android: "Optimize for Doze and App Standby").
func (d *Device) SetDoze(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if on == d.doze || d.system != Android {
		return
	}
	d.doze = on
	if on {
		d.record(Event{Kind: Dozed})
		return
	}
	d.record(Event{Kind: Woke})
	d.flush()
}

// Dozing tells whether an Android phone sleeps.
func (d *Device) Dozing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.doze
}

// Maintain is a maintenance window in Doze: held messages come through and the
// phone sleeps on.
func (d *Device) Maintain() {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.doze
	d.doze = false
	d.flush()
	d.doze = was
}

// Tick does what has become due by the phone's clock: throttled messages come
// through, stored ones run out. Accepting a push and every change of the network
// do the same; whoever moves the clock, or lets it run without either, calls Tick.
func (d *Device) Tick() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, in := range d.apps {
		in.apple.late = false
	}
	d.flush()
}

// Stored returns what the vendors hold back for an app, oldest first.
func (d *Device) Stored(app string) []Notification {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	if !ok {
		return nil
	}
	var out []Notification
	if in.apple.full {
		out = append(out, in.apple.stored)
	}
	for _, m := range in.google.held {
		out = append(out, m.n)
	}
	return out
}

// flush delivers what the vendors may deliver now.
func (d *Device) flush() {
	for _, app := range slices.Sorted(maps.Keys(d.apps)) {
		in := d.apps[app]
		d.flushApple(in)
		d.flushGoogle(app, in)
	}
}

// lose writes down that a push the vendor took is not going to arrive.
func (d *Device) lose(n Notification, reason string) {
	e := n.event(Lost)
	e.Reason = reason
	d.record(e)
}

// SetNotifications is the person's switch for an app's notifications in the
// settings. Off, nothing of the app is shown and no badge is set; it still gets
// its background pushes and is told (Switched). Android also takes away what is
// showing.
func (d *Device) SetNotifications(app string, allowed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	if !ok || in.silent == !allowed {
		return
	}
	in.silent = !allowed
	kind := SwitchedOn
	if in.silent {
		kind = SwitchedOff
		if d.system == Android {
			d.clear(app, in, BySwitch)
		}
	}
	d.record(Event{App: app, Kind: kind})
	if program, ok := in.program.(Switched); ok {
		d.run(func(ctx context.Context) { program.NotificationsSwitched(ctx, allowed) })
	}
}

// NotificationsAllowed tells how the person's switch for an app stands.
func (d *Device) NotificationsAllowed(app string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	return ok && !in.silent
}

// ForceQuit ends an app until the person opens it again. iOS then runs no
// background push for it and goes on showing its alerts (Apple: "Pushing
// background updates to your App"). On Android it stands for a force-stop, which
// keeps every message away and clears the screen (Android: FLAG_STOPPED;
// Firebase: "Receive messages in an Android app"); swiping an Android app away is
// no force-stop and needs no call.
func (d *Device) ForceQuit(app string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	if !ok || in.quit {
		return
	}
	in.quit = true
	d.record(Event{App: app, Kind: Quit})
	if d.system == Android {
		d.clear(app, in, ByForceQuit)
	}
}

// HasQuit tells whether an app is installed and was ended by the person.
func (d *Device) HasQuit(app string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	return ok && in.quit
}

// Launch is the person opening an app from the home screen. What the app does at
// its start is the caller's to run.
func (d *Device) Launch(app string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.apps[app]; ok {
		d.launch(app, in)
	}
}

func (d *Device) launch(app string, in *installed) {
	if in.quit {
		in.quit = false
		d.record(Event{App: app, Kind: Launched})
	}
}
