package device

import (
	"context"
	"slices"
)

// Open is the person's tap on an alert: it leaves the screen and the app opens
// on it. It returns ErrNotShown, or the error of App.Open.
func (d *Device) Open(ctx context.Context, app, key string) error {
	s, program, err := d.take(app, key)
	if err != nil {
		return err
	}
	d.Launch(app)
	if program != nil {
		err = program.Open(ctx, s.Notification)
	}
	d.tell(s, Opened, "", err)
	return err
}

// Act is the person's tap on an action button of an alert: it leaves the screen
// and the app runs the action without opening. The phone does not know which
// buttons a category has; the app judges the action. It returns ErrNotShown, or
// the error of App.Act.
func (d *Device) Act(ctx context.Context, app, key, action string) error {
	s, program, err := d.take(app, key)
	if err != nil {
		return err
	}
	if program != nil {
		err = program.Act(ctx, s.Notification, action)
	}
	d.tell(s, Acted, action, err)
	return err
}

// Dismiss is the person's swipe: the alert is gone, the app is not told. It
// returns ErrNotShown.
func (d *Device) Dismiss(app, key string) error {
	s, _, err := d.take(app, key)
	if err != nil {
		return err
	}
	d.tell(s, Dismissed, "", nil)
	return nil
}

// Notify lets an app put up an alert of its own, as NotificationManager.notify and
// UNUserNotificationCenter.add do; it takes the place of the one with its tag. This
// is how an app shows an FCM data message, and Remove how it cancels one. It
// reports whether the person can see it: not with notifications switched off.
func (d *Device) Notify(n Notification) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.find(n)
	if !ok {
		return false
	}
	if in.silent {
		d.lose(n, BySwitch)
		return false
	}
	n.Alert = true
	if n.Level == "" {
		n.Level = Active
	}
	d.show(in, n)
	return true
}

// Remove lets an app take its own alerts off the screen by key, as
// removeDeliveredNotifications and NotificationManager.cancel do, and returns how
// many were there. Unknown keys are no error on either system.
func (d *Device) Remove(app string, keys ...string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	if !ok {
		return 0
	}
	kept := in.screen[:0:0]
	removed := 0
	for _, s := range in.screen {
		if !slices.Contains(keys, s.Key) {
			kept = append(kept, s)
			continue
		}
		removed++
		d.record(Event{App: app, Kind: Removed, Key: s.Key, ID: s.ID, Tag: s.Tag, Reason: ByApp})
	}
	in.screen = kept
	return removed
}

// SetBadge lets an app set its own badge; 0 clears its alerts as a pushed 0 does.
func (d *Device) SetBadge(app string, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if in, ok := d.apps[app]; ok {
		d.setBadge(app, in, n)
	}
}

// take removes an alert from the screen before the app hears of it, so that two
// fingers cannot tap the same one.
func (d *Device) take(app, key string) (Shown, App, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in, ok := d.apps[app]
	if !ok {
		return Shown{}, nil, ErrNotShown
	}
	i := slices.IndexFunc(in.screen, func(s Shown) bool { return s.Key == key })
	if i < 0 {
		return Shown{}, nil, ErrNotShown
	}
	s := in.screen[i]
	in.screen = slices.Delete(in.screen, i, i+1)
	return s, in.program, nil
}

// tell writes the gesture down once its outcome is known.
func (d *Device) tell(s Shown, kind Kind, action string, failure error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := s.event(kind)
	e.Key, e.Action = s.Key, action
	if failure != nil {
		e.Failed = failure.Error()
	}
	d.record(e)
}
