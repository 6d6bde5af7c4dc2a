package phone

import (
	"context"
	"strings"
)

// Address is what the vendor calls this phone now: a device token, a
// registration token or a Firebase installation id.
func (a *App) Address() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.address
}

// Renamed is an address that the app does not hear of yet: it does not run. It
// registers it at its next Start.
func (a *App) Renamed(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.address = address
}

// Moved is called by the system when the vendor gave the app another address
// (Apple: "Registering your app with APNs"; Firebase: onNewToken). The app tells
// its server, where it has one. Errors: those of the server.
func (a *App) Moved(ctx context.Context, address string) error {
	a.Renamed(address)
	if !a.State().Paired() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, a.cfg.Window)
	defer cancel()
	return a.Register(limited)
}

// Wipe is the app's data going with the app when it is uninstalled: keys,
// pairing, badge. The server is told nothing, as no app can. Install brings an
// empty app back.
func (a *App) Wipe() error {
	a.Vanish()
	a.reading.Lock()
	defer a.reading.Unlock()
	a.renewing.Lock()
	defer a.renewing.Unlock()
	if err := a.change(func(s *State) { *s = State{} }); err != nil {
		return err
	}
	a.mu.Lock()
	old := a.server
	a.server, a.token, a.threads, a.address = nil, "", nil, ""
	a.mu.Unlock()
	clear(a.views)
	old.close()
	a.tell(Event{Kind: Uninstalled})
	return nil
}

// Install puts the app on its phone again after Wipe, under the address that the
// vendor gave it now. The error is device.ErrClosed.
func (a *App) Install(address string) error {
	if err := a.cfg.Device.Install(a.cfg.Topic, a); err != nil {
		return err
	}
	a.Renamed(address)
	a.tell(Event{Kind: Installed})
	return nil
}

// Start is the person opening the app from the home screen: it registers, as
// apps do at every start, and reads. Errors: those of the server; none where it is not paired.
func (a *App) Start(ctx context.Context) error {
	a.cfg.Device.Launch(a.cfg.Topic)
	if !a.State().Paired() {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, a.cfg.Window)
	defer cancel()
	if err := a.Register(limited); err != nil {
		return err
	}
	return a.Sync(limited)
}

// isInstallationID tells a Firebase installation id from a registration token,
// which is one with a colon and a secret after it.
func isInstallationID(address string) bool { return !strings.Contains(address, ":") }
