package device

import (
	"context"
	"errors"
	"slices"
	"time"
)

// The limits of FCM and of Android's power saving. Firebase: "About FCM messages"
// (collapse keys, stored messages, lifetime), "Throttling and quotas" (burst and
// refill of collapsible messages, messages to one device), "Set and manage Android
// message priority" (high priority is for what the person gets to see, judged over
// seven days).
const (
	googleKeys      = 4
	googleMessages  = 100
	googleBurst     = 20
	googleRefill    = 3 * time.Minute
	googlePerMinute = 240
	googlePerHour   = 5000
	googleStores    = 28 * 24 * time.Hour
	// googleAway is the "more than one month" after which onDeletedMessages tells
	// of messages that ran out.
	googleAway      = 30 * 24 * time.Hour
	invisibleWindow = 7 * 24 * time.Hour
	// invisibleMany is how many messages of high priority in a row may show
	// nothing; Firebase names no number, this is the emulator's.
	invisibleMany = 5
)

// ErrDeviceRate answers a message above the rate that FCM accepts for one phone.
// The sender hears of it as QUOTA_EXCEEDED.
var ErrDeviceRate = errors.New("device: more messages than FCM takes for one device")

// FCM is what a message asks of FCM's store, beside its content.
type FCM struct {
	// High priority comes through Doze.
	High bool
	// CollapseKey makes the message collapsible: of one key, the newest is stored.
	CollapseKey string
}

// googleBox is what FCM and Android keep for one app on one phone.
type googleBox struct {
	held      []message // oldest first
	deleted   bool      // the app has to be told
	spent     int       // of the burst of collapsible messages
	refilled  time.Time
	invisible []time.Time // high priority in a row that showed nothing
}

type message struct {
	n   Notification
	fcm FCM
	at  time.Time
}

// AcceptFCM takes a message that Google accepted for the phone: it arrives now, or
// is stored until phone and limits let it through. The error is ErrDeviceRate.
func (d *Device) AcceptFCM(n Notification, o FCM) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.countGoogle(); err != nil {
		return err
	}
	in, ok := d.find(n)
	if !ok {
		return nil
	}
	d.flushGoogle(n.App, in)
	box := &in.google
	now := d.now()
	if o.High && box.demotes(now) {
		o.High = false
		d.record(n.event(Demoted))
	}
	m := message{n: n, fcm: o, at: now}
	switch {
	case d.mayArrive(box, &m):
		d.arriveGoogle(in, &m)
	case n.NowOrNever:
		d.lose(n, ByOffline)
	default:
		d.storeGoogle(box, m)
		d.flushGoogle(n.App, in) // it may have run out already
	}
	return nil
}

// countGoogle holds the phone to the rates for one device.
func (d *Device) countGoogle() error {
	now := d.now()
	d.received = newerThan(d.received, now.Add(-time.Hour))
	n := len(d.received)
	if n >= googlePerHour || n >= googlePerMinute && d.received[n-googlePerMinute].After(now.Add(-time.Minute)) {
		return ErrDeviceRate
	}
	d.received = append(d.received, now)
	return nil
}

// storeGoogle keeps a message within the limits of the store. Firebase does not
// say which four keys survive, nor whether the message above the hundred is lost
// with them; the emulator drops the oldest key, and both.
func (d *Device) storeGoogle(box *googleBox, m message) {
	if m.fcm.CollapseKey == "" {
		plain := 0
		for _, h := range box.held {
			if h.fcm.CollapseKey == "" {
				plain++
			}
		}
		if plain >= googleMessages {
			for _, h := range append(box.held, m) {
				d.lose(h.n, ByLimit)
			}
			box.held, box.deleted = nil, true
			return
		}
	} else {
		d.collapse(box, m.fcm.CollapseKey)
	}
	box.held = append(box.held, m)
	d.record(m.n.event(Stored))
}

// collapse makes room for a message of a key: its forerunner goes, or else the
// oldest of four other keys.
func (d *Device) collapse(box *googleBox, key string) {
	oldest, keys := -1, 0
	for i, h := range box.held {
		switch h.fcm.CollapseKey {
		case "":
		case key:
			d.lose(h.n, ByCollapse)
			box.held = slices.Delete(box.held, i, i+1)
			return
		default:
			keys++
			if oldest < 0 {
				oldest = i
			}
		}
	}
	if keys >= googleKeys {
		d.lose(box.held[oldest].n, ByKeys)
		box.held = slices.Delete(box.held, oldest, oldest+1)
	}
}

// flushGoogle drops what ran out and delivers what may arrive.
func (d *Device) flushGoogle(app string, in *installed) {
	box, now := &in.google, d.now()
	held := box.held
	box.held = nil
	for _, m := range held {
		until := m.n.Expires
		if latest := m.at.Add(googleStores); until.IsZero() || until.After(latest) {
			until = latest
		}
		switch {
		case !now.Before(until):
			d.lose(m.n, ByExpiry)
			box.deleted = box.deleted || d.offline && now.Sub(d.since) > googleAway
		case d.mayArrive(box, &m):
			d.arriveGoogle(in, &m)
		default:
			box.held = append(box.held, m)
		}
	}
	if box.deleted && !d.offline && !(in.quit && d.system == Android) {
		box.deleted = false
		d.record(Event{App: app, Kind: Deleted})
		if program, ok := in.program.(Resyncing); ok {
			d.run(func(ctx context.Context) { program.MessagesDeleted(ctx) })
		}
	}
}

// mayArrive tells whether network, Doze and the rate of collapsible messages let a
// message through now. Messages with TTL 0 are never throttled (Firebase: "Set the
// lifespan of a message").
func (d *Device) mayArrive(box *googleBox, m *message) bool {
	if d.offline || d.doze && !m.fcm.High {
		return false
	}
	return m.fcm.CollapseKey == "" || m.n.NowOrNever || box.burst(d.now()) > 0
}

func (d *Device) arriveGoogle(in *installed, m *message) {
	if m.fcm.CollapseKey != "" && !m.n.NowOrNever {
		in.google.spent++
	}
	d.arrive(in, m.n, m.fcm.High)
}

// burst returns how many collapsible messages may go out now.
func (b *googleBox) burst(now time.Time) int {
	if b.spent == 0 {
		b.refilled = now
		return googleBurst
	}
	back := int(now.Sub(b.refilled) / googleRefill)
	b.refilled = b.refilled.Add(time.Duration(back) * googleRefill)
	b.spent = max(0, b.spent-back)
	return googleBurst - b.spent
}

// demotes tells whether the app has wasted its high priority.
func (b *googleBox) demotes(now time.Time) bool {
	b.invisible = newerThan(b.invisible, now.Add(-invisibleWindow))
	return len(b.invisible) >= invisibleMany
}

// shown notes what came of a message once the app's code has run.
func (b *googleBox) shown(high, visible bool, now time.Time) {
	switch {
	case visible:
		b.invisible = nil
	case high:
		b.invisible = append(b.invisible, now)
	}
}
