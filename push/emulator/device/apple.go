package device

import "time"

const (
	// appleStores is how long APNs keeps a push that states no expiration.
	appleStores = 30 * 24 * time.Hour
	// appleBudget is how many background pushes an app gets in an hour. Apple:
	// "Pushing background updates to your App" advises two or three and throttles
	// more; the emulator takes the upper number as the limit.
	appleBudget       = 3
	appleBudgetWindow = time.Hour
)

// appleBox is what APNs and iOS keep for one app on one phone.
type appleBox struct {
	full   bool
	stored Notification
	at     time.Time
	late   bool // it waits to be overtaken though the phone is back
	// background has the times of background pushes that were run in the last
	// hour.
	background []time.Time
}

// AcceptAPNs takes a push that Apple accepted for the phone: it arrives now or is
// stored. Apple keeps one push for an app on a phone without network, the newest,
// until its expiration, and none with expiration 0 ("Sending notification requests
// to APNs").
func (d *Device) AcceptAPNs(n Notification) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.find(n)
	if !ok {
		return
	}
	d.flushApple(in)
	if !d.offline {
		d.overtake(in, n)
		d.arriveApple(in, n)
		in.apple.late = false
		d.flushApple(in)
		return
	}
	if n.NowOrNever {
		d.lose(n, ByOffline)
		return
	}
	box := &in.apple
	if box.full {
		reason := ByNewer
		if n.Tag != "" && n.Tag == box.stored.Tag {
			reason = ByCollapse
		}
		d.lose(box.stored, reason)
	}
	box.full, box.stored, box.at = true, n, d.now()
	d.record(n.event(Stored))
	d.flushApple(in) // it may have come too late to be stored
}

// overtake settles what a push does to a stored one of the app that has not come
// through yet: under the same collapse id nothing is left of it, else it comes
// behind.
func (d *Device) overtake(in *installed, n Notification) {
	box := &in.apple
	if box.full && n.Tag != "" && n.Tag == box.stored.Tag {
		d.lose(box.stored, ByCollapse)
		box.full, box.stored = false, Notification{}
	}
}

// flushApple delivers the stored push of an app or drops it when it ran out.
func (d *Device) flushApple(in *installed) {
	box := &in.apple
	if !box.full {
		return
	}
	until := box.stored.Expires
	if until.IsZero() {
		until = box.at.Add(appleStores)
	}
	n := box.stored
	switch {
	case !d.now().Before(until):
		d.lose(n, ByExpiry)
	case !d.offline && !box.late:
		d.arriveApple(in, n)
	default:
		return
	}
	box.full, box.stored = false, Notification{}
}

// arriveApple lets a push in unless iOS has run enough background pushes of the
// app. Dropped ones take nothing from the budget.
func (d *Device) arriveApple(in *installed, n Notification) {
	if n.Background && !in.quit {
		now := d.now()
		in.apple.background = newerThan(in.apple.background, now.Add(-appleBudgetWindow))
		if len(in.apple.background) >= appleBudget {
			d.lose(n, ByBudget)
			return
		}
		in.apple.background = append(in.apple.background, now)
	}
	d.arrive(in, n, false)
}

// newerThan drops the times at or before a limit from an ascending list.
func newerThan(times []time.Time, limit time.Time) []time.Time {
	for len(times) > 0 && !times[0].After(limit) {
		times = times[1:]
	}
	return times
}
