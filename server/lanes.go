package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/worker"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
)

// lanes are the ways to the vendors. The zero value sends nothing; deliveries
// then wait in the outbox.
type lanes struct {
	workers map[string]*worker.Worker
	outbox  app.Outbox
	close   func()
}

// wake tells a lane that it got work. It never blocks.
func (l *lanes) wake(lane string) {
	if w, ok := l.workers[lane]; ok {
		w.Wake()
	}
}

// apnsSenders is as many as a batch has rows: with fewer, claims and verdicts
// come in small commits, and a distant vendor, whose delay divides this number,
// is slow. Apple admits 1,000 streams on a connection.
const apnsSenders = 256

// open prepares the lanes that the configuration has keys for.
func (l *lanes) open(c config.APNs, outbox app.Outbox, log *slog.Logger) error {
	l.close = func() {}
	if !c.Enabled() {
		return nil
	}
	settings, err := apnsConfig(c)
	if err != nil {
		return err
	}
	provider, err := apns.New(settings)
	if err != nil {
		return err
	}
	lane := string(push.KindAPNs)
	senders := c.Senders
	if senders == 0 {
		senders = apnsSenders
	}
	w, err := worker.New(worker.Config{Lane: lane, Queue: outbox, Provider: provider, Senders: senders, Log: log})
	if err != nil {
		return err
	}
	l.workers, l.outbox, l.close = map[string]*worker.Worker{lane: w}, outbox, provider.Close
	return nil
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
	if c.CAFile == "" {
		return out, nil
	}
	pem, err := os.ReadFile(c.CAFile)
	if err != nil {
		return apns.Config{}, fmt.Errorf("APNs roots: %w", err)
	}
	out.RootCAs = x509.NewCertPool()
	if !out.RootCAs.AppendCertsFromPEM(pem) {
		return apns.Config{}, fmt.Errorf("APNs roots: %s holds no certificate", c.CAFile)
	}
	return out, nil
}

// pushApps are the client programs that may register endpoints.
func pushApps(c config.APNs) []app.PushApp {
	if !c.Enabled() {
		return nil
	}
	return []app.PushApp{{ID: c.App, Topics: c.Topics}}
}
