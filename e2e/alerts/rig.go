package alerts

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beckon-dev/beckon/push"
	emuapns "github.com/beckon-dev/beckon/push/emulator/apns"
	emufcm "github.com/beckon-dev/beckon/push/emulator/fcm"
	"github.com/beckon-dev/beckon/push/provider/apns"
	"github.com/beckon-dev/beckon/push/provider/fcm"
	"github.com/beckon-dev/beckon/server"
)

const (
	keyID  = "KEY1234567"
	teamID = "TEAM123456"
	// remembered is how many requests the emulators keep: those of one send.
	remembered = 8
	// tokenLife is longer than all stories. The kit signs what it asks for an access
	// token with by the machine's clock, so one has to do for all of them.
	tokenLife = 100 * 365 * 24 * time.Hour
)

// Rig is what stories are told on, one after the other: the two vendors with the
// ways to them, a port, and the clock of all of them.
type Rig struct {
	// Folder is where phones keep their state.
	Folder string

	apns  *emuapns.Server
	fcm   *emufcm.Server
	ways  map[string]push.Provider
	close []func()
	url   string
	// handler is the server of the story that is told.
	handler atomic.Pointer[http.Handler]

	mu  sync.Mutex
	now time.Time
}

// Start opens a rig; Close ends it.
func Start(ctx context.Context, folder string) (*Rig, error) {
	r := &Rig{Folder: folder, now: time.Now().UTC().Truncate(time.Second), ways: map[string]push.Provider{}}
	if err := r.open(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rig) open(ctx context.Context) error {
	for _, open := range []func(context.Context) error{r.openAPNs, r.openFCM, r.listen} {
		if err := open(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Rig) openAPNs(ctx context.Context) error {
	var err error
	if r.apns, err = emuapns.Start(ctx, emuapns.Config{Now: r.Now, Sleep: noSleep, Keep: remembered}); err != nil {
		return err
	}
	r.close = append(r.close, r.apns.Close)
	key, p8, err := emuapns.NewProviderKey(keyID, teamID)
	if err != nil {
		return err
	}
	if err := r.apns.RegisterKey(key); err != nil {
		return err
	}
	private, err := apns.ParseKey(p8)
	if err != nil {
		return err
	}
	roots, err := rootsOf(r.apns.CAPEM())
	if err != nil {
		return err
	}
	way, err := apns.New(apns.Config{
		KeyID: keyID, TeamID: teamID, Key: private, RootCAs: roots, Now: r.Now, Hosts: map[push.Env]string{
			push.EnvSandbox: r.apns.URL(emuapns.Sandbox), push.EnvProduction: r.apns.URL(emuapns.Production),
		},
	})
	if err != nil {
		return err
	}
	r.close = append(r.close, way.Close)
	r.ways[push.LaneAPNs] = way
	return nil
}

func (r *Rig) openFCM(ctx context.Context) error {
	var err error
	if r.fcm, err = emufcm.Start(ctx, emufcm.Config{Now: r.Now, Sleep: noSleep, Keep: remembered, TokenLife: tokenLife}); err != nil {
		return err
	}
	r.close = append(r.close, r.fcm.Close)
	account, err := r.fcm.Issue("")
	if err != nil {
		return err
	}
	roots, err := rootsOf(r.fcm.CAPEM())
	if err != nil {
		return err
	}
	way, err := fcm.New(ctx, fcm.Config{ServiceAccount: account, Endpoint: r.fcm.URL() + "/v1", RootCAs: roots, Now: r.Now})
	if err != nil {
		return err
	}
	r.close = append(r.close, way.Close)
	r.ways[push.LaneFCM] = way
	// One that Google does not know gets the access token all the same.
	unknown := push.Message{Address: push.Address{Kind: push.KindFCMToken, Token: emufcm.NewToken(), Topic: topic}}
	if v := way.Send(ctx, unknown); v.Class != push.Dead {
		return fmt.Errorf("alerts: the first message was judged %s %s", v.Class, v.Reason)
	}
	return nil
}

// listen opens the port that every story's server answers.
func (r *Rig) listen(ctx context.Context) error {
	var cfg net.ListenConfig
	l, err := cfg.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.url = "http://" + l.Addr().String()
	srv := server.NewHTTP(ctx, false, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		(*r.handler.Load()).ServeHTTP(w, req)
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = srv.Serve(l) })
	r.close = append(r.close, func() {
		_ = srv.Close()
		serving.Wait()
	})
	return nil
}

// Close ends everything, the last opened first.
func (r *Rig) Close() {
	for _, end := range slices.Backward(r.close) {
		end()
	}
}

// Now is the one clock.
func (r *Rig) Now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *Rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// noSleep is how a vendor is slow on a clock that stands still.
func noSleep(context.Context, time.Duration) {}

func rootsOf(pem []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("alerts: the emulator's root is no certificate")
	}
	return pool, nil
}
