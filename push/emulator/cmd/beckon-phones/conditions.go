package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/apns"
	"github.com/beckon-dev/beckon/push/emulator/cmd/beckon-phones/phone"
	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

// condition is something that happens to a phone, by its person or its vendor.
type condition struct {
	name, help string
	// only is the vendor whose phones know it; "" for both.
	only phone.Vendor
	// bare ones need no app on the phone.
	bare bool
	set  func(context.Context, *host, *unit) error
}

// conditions are all of them, in the order of the help text.
func conditions() []condition {
	return []condition{
		{"offline", "no network: the vendor stores what it may, the app reaches nobody", "", true, online(false)},
		{"online", "the network is back, and what was stored with it", "", true, online(true)},
		{"doze", "Android's Doze: messages of normal priority wait", phone.FCM, true, doze(true)},
		{"awake", "out of Doze", phone.FCM, true, doze(false)},
		{"maintenance", "a maintenance window in Doze: what waits comes through", phone.FCM, true, maintain},
		{"quit", "the person ends the app: force-quit, on Android a force-stop", "", false, quit},
		{"launch", "the person opens the app: it registers and reads", "", false, launch},
		{"notifications-off", "the person forbids the app's notifications", "", false, notifications(false)},
		{"notifications-on", "and allows them again", "", false, notifications(true)},
		{"new-token", "the vendor gives the app another token, which it tells its server if it runs", "", false, newToken},
		{"new-fid", "the app goes on with a Firebase installation id in the place of its token", phone.FCM, false, newFID},
		{"uninstall", "the app goes with all it has; its address is dead at the vendor", "", false, uninstall},
		{"install", "the app comes back empty, under a new address", "", true, install},
	}
}

// conditionState is how the phone is.
type conditionState struct {
	Installed     bool `json:"installed"`
	Online        bool `json:"online"`
	Doze          bool `json:"doze"`
	Quit          bool `json:"quit"`
	Notifications bool `json:"notifications"`
}

func (u *unit) condition() conditionState {
	return conditionState{
		Installed: u.has(), Online: u.device.Online(), Doze: u.device.Dozing(),
		Quit: u.device.HasQuit(u.topic), Notifications: u.device.NotificationsAllowed(u.topic),
	}
}

// has reports whether the app is on the phone.
func (u *unit) has() bool { return u.app.Address() != "" }

// setCondition carries out one of the conditions and answers with the phone as it
// is then.
func (h *host) setCondition(ctx context.Context, u *unit, req request) (any, error) {
	var names []string
	for _, c := range conditions() {
		names = append(names, c.name)
		if c.name != req.Condition {
			continue
		}
		err := h.happen(ctx, u, c)
		return u.state(), err
	}
	return nil, fmt.Errorf("%w: no condition %q; there are %s", errUsage, req.Condition, strings.Join(names, ", "))
}

func (h *host) happen(ctx context.Context, u *unit, c condition) error {
	if c.only != "" && c.only != u.vendor {
		return fmt.Errorf("%w: an iPhone knows no %s", errUsage, c.name)
	}
	u.changing.Lock()
	defer u.changing.Unlock()
	if !c.bare && !u.has() {
		return errNotInstalled
	}
	return c.set(ctx, h, u)
}

func online(on bool) func(context.Context, *host, *unit) error {
	return func(_ context.Context, _ *host, u *unit) error {
		u.device.SetOnline(on)
		return nil
	}
}

func doze(on bool) func(context.Context, *host, *unit) error {
	return func(_ context.Context, _ *host, u *unit) error {
		u.device.SetDoze(on)
		return nil
	}
}

func maintain(_ context.Context, _ *host, u *unit) error {
	u.device.Maintain()
	return nil
}

func notifications(on bool) func(context.Context, *host, *unit) error {
	return func(_ context.Context, _ *host, u *unit) error {
		u.device.SetNotifications(u.topic, on)
		return nil
	}
}

func quit(_ context.Context, _ *host, u *unit) error {
	u.device.ForceQuit(u.topic)
	u.app.Vanish()
	return nil
}

func launch(ctx context.Context, _ *host, u *unit) error { return u.app.Start(ctx) }

// newToken moves the app to another token. Google's old one is good for a while
// longer, Apple's is not.
func newToken(ctx context.Context, h *host, u *unit) error {
	token, err := newAddress(u.vendor)
	if err != nil {
		return err
	}
	old := u.app.Address()
	switch {
	case u.vendor == phone.FCM && strings.Contains(old, ":"):
		err = h.fcm.Rotate(old, token, oldTokenLives)
	default:
		h.unregister(u, old)
		err = h.register(u, token)
	}
	if err != nil {
		return err
	}
	return h.move(ctx, u, token)
}

// oldTokenLives is how long Google takes a token that was replaced.
const oldTokenLives = 10 * time.Minute

func newFID(ctx context.Context, h *host, u *unit) error {
	fid := fcm.NewFID()
	if err := h.register(u, fid); err != nil {
		return err
	}
	h.unregister(u, u.app.Address())
	return h.move(ctx, u, fid)
}

// move lets the app know its new address; one that was ended is not told before
// its person opens it.
func (h *host) move(ctx context.Context, u *unit, address string) error {
	if err := h.dir.keepAddress(u.model(), address); err != nil {
		return err
	}
	h.addresses.Store(address, u)
	if u.device.HasQuit(u.topic) {
		u.app.Renamed(address)
		return nil
	}
	return u.app.Moved(ctx, address)
}

func uninstall(_ context.Context, h *host, u *unit) error {
	u.device.Uninstall(u.topic)
	h.unregister(u, u.app.Address())
	if err := h.dir.forgetAddress(u.model()); err != nil {
		return err
	}
	return u.app.Wipe()
}

func install(_ context.Context, h *host, u *unit) error {
	if u.has() {
		return fmt.Errorf("%w: the app is installed", errUsage)
	}
	address, err := h.dir.deviceToken(u.model())
	if err != nil {
		return err
	}
	if err := u.app.Install(address); err != nil {
		return err
	}
	return h.register(u, address)
}

// register makes an address lead to a phone.
func (h *host) register(u *unit, address string) error {
	h.addresses.Store(address, u)
	if u.vendor == phone.FCM {
		r := fcm.Registration{App: u.topic, Phone: u.device}
		if strings.Contains(address, ":") {
			r.Token = address
		} else {
			r.FID = address
		}
		return h.fcm.AddDevice(r)
	}
	return h.apns.AddDevice(apns.Registration{Token: address, Topic: u.topic, Env: u.env, Phone: u.device})
}

// unregister makes an address dead, as of now.
func (h *host) unregister(u *unit, address string) {
	if u.vendor == phone.FCM {
		h.fcm.Unregister(address)
		return
	}
	h.apns.Unregister(address, time.Now())
}
