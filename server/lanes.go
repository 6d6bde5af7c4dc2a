package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/provider/fcm"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
)

// lanes are the ways to the vendors. The zero value sends nothing; deliveries
// then wait in the outbox.
type lanes struct {
	workers map[string]*worker.Worker
	outbox  app.Outbox
	closers []func()
}

// wake tells a lane that it got work. It never blocks.
func (l *lanes) wake(lane string) {
	if w, ok := l.workers[lane]; ok {
		w.Wake()
	}
}

// paused reports whether a lane waits because its vendor refused our credentials
// or told us to slow down.
func (l *lanes) paused(lane string) bool {
	w, ok := l.workers[lane]
	return ok && !w.Circuit().Closed()
}

// defaultSenders is as many as a batch has rows: with fewer, claims and verdicts
// come in small commits, and a distant vendor, whose delay divides this number,
// is slow. Apple admits 1,000 streams on a connection, Google 100 on each of
// several.
const defaultSenders = 256

// open prepares the lanes that the configuration has keys for. Each vendor has
// its own worker, so one that is out of reach holds up nobody else's pushes.
func (l *lanes) open(ctx context.Context, c config.Config, outbox app.Outbox, log *slog.Logger) error {
	l.workers, l.outbox = map[string]*worker.Worker{}, outbox
	if c.APNs.Enabled() {
		settings, err := apnsConfig(c.APNs)
		if err != nil {
			return err
		}
		provider, err := apns.New(settings)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, provider.Close)
		if err := l.add(push.LaneAPNs, provider, c.APNs.Senders, log); err != nil {
			return err
		}
	}
	if c.FCM.Enabled() {
		settings, err := fcmConfig(c.FCM)
		if err != nil {
			return err
		}
		provider, err := fcm.New(ctx, settings)
		if err != nil {
			return err
		}
		l.closers = append(l.closers, provider.Close)
		if err := l.add(push.LaneFCM, provider, c.FCM.Senders, log); err != nil {
			return err
		}
	}
	return nil
}

func (l *lanes) add(lane string, provider push.Provider, senders int, log *slog.Logger) error {
	if senders == 0 {
		senders = defaultSenders
	}
	w, err := worker.New(worker.Config{Lane: lane, Queue: l.outbox, Provider: provider, Senders: senders, Log: log})
	if err != nil {
		return err
	}
	l.workers[lane] = w
	return nil
}

// close ends the connections to the vendors, once no worker runs.
func (l *lanes) close() {
	for _, c := range l.closers {
		c()
	}
}

// recover gives back what a worker of an earlier process held.
func (l *lanes) recover(ctx context.Context) error {
	for lane := range l.workers {
		if err := l.outbox.Recover(ctx, lane); err != nil {
			return fmt.Errorf("outbox: %w", err)
		}
	}
	return nil
}

func apnsConfig(c config.APNs) (apns.Config, error) {
	p8, err := os.ReadFile(c.KeyFile)
	if err != nil {
		return apns.Config{}, fmt.Errorf("APNs key: %w", err)
	}
	key, err := apns.ParseKey(p8)
	if err != nil {
		return apns.Config{}, err
	}
	out := apns.Config{KeyID: c.KeyID, TeamID: c.TeamID, Key: key}
	if c.SandboxHost != "" || c.ProductionHost != "" {
		// With one host replaced, the other vendor host is out of reach: an
		// emulator must not share a key with the real service by accident.
		out.Hosts = map[push.Env]string{}
		if c.SandboxHost != "" {
			out.Hosts[push.EnvSandbox] = c.SandboxHost
		}
		if c.ProductionHost != "" {
			out.Hosts[push.EnvProduction] = c.ProductionHost
		}
	}
	out.RootCAs, err = roots(c.CAFile)
	return out, err
}

func fcmConfig(c config.FCM) (fcm.Config, error) {
	account, err := os.ReadFile(c.AccountFile)
	if err != nil {
		return fcm.Config{}, fmt.Errorf("FCM service account: %w", err)
	}
	out := fcm.Config{ServiceAccount: account, ProjectID: c.Project, Endpoint: c.Endpoint, TokenURI: c.TokenURI}
	out.RootCAs, err = roots(c.CAFile)
	return out, err
}

// roots reads the only roots to trust for a vendor; nil are the system's.
func roots(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("push roots: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("push roots: %s holds no certificate", file)
	}
	return pool, nil
}

// pushApps are the client programs that may register endpoints. One program on
// both systems has the bundle ids of one and the package names of the other.
func pushApps(c config.Config) []app.PushApp {
	var out []app.PushApp
	if c.APNs.Enabled() {
		out = append(out, app.PushApp{ID: c.APNs.App, Topics: c.APNs.Topics})
	}
	switch {
	case !c.FCM.Enabled():
	case len(out) > 0 && out[0].ID == c.FCM.App:
		out[0].Topics = slices.Concat(out[0].Topics, c.FCM.Packages)
	default:
		out = append(out, app.PushApp{ID: c.FCM.App, Topics: c.FCM.Packages})
	}
	return out
}
