package alerts

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/httpapi"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/rpc"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/memstore"
)

// world is one story while it is told.
type world struct {
	*Rig
	ctx    context.Context //nolint:containedctx // one story's, handed to every call of it
	mutate Mutation

	store *store.Store
	keys  credential.Keys
	app   *app.App

	accounts []*account
	phones   []*handset
	facts    []oracle.Fact
	names    int

	// paused is until when a lane sends nothing, by the vendor's own word.
	paused map[string]time.Time
	// between runs once, after the next row was judged and before it is sent.
	between func()
	// wire says which subject a push was about, by what stands on a screen.
	wire wire
}

// Result is a story that was told.
type Result struct {
	Facts []oracle.Fact
	Rows  []oracle.Row
}

// storyError is what ends a story that could not be told; the steps panic with it.
type storyError struct{ cause error }

func (w *world) must(err error) {
	if err != nil {
		panic(storyError{err})
	}
}

// Run tells a story. The error is a story that could not be told to its end, which
// is the fault of whoever wrote it or of the machine.
func (r *Rig) Run(ctx context.Context, steps []Step, mutation Mutation) (result Result, err error) {
	w := &world{Rig: r, ctx: ctx, mutate: mutation, paused: map[string]time.Time{}, wire: newWire()}
	defer func() {
		if caught := recover(); caught != nil {
			failed, ok := caught.(storyError)
			if !ok {
				panic(caught)
			}
			err = fmt.Errorf("the story broke off after fact %d: %w", len(w.facts), failed.cause)
		}
	}()
	defer w.leave()
	w.open()
	for _, s := range steps {
		w.take(s)
	}
	w.end()
	return Result{w.facts, w.rows()}, nil
}

// open moves everybody in.
func (w *world) open() {
	r := w.Rig
	r.apns.ClearScript()
	r.fcm.ClearScript()
	w.facts = append(w.facts, oracle.Fact{Kind: oracle.Passed, Time: w.Now()}) // facts count from 1
	master, err := credential.NewKey(make([]byte, credential.KeySize))
	w.must(err)
	w.keys, err = credential.DeriveKeys(master, 1)
	w.must(err)
	w.store, err = store.Open(w.ctx, memstore.New(), store.Config{Clock: r.Now})
	w.must(err)
	w.boot()
	for _, name := range []string{"anna", "ben"} {
		w.accounts = append(w.accounts, w.newAccount(name))
	}
	for i, p := range []struct {
		name    string
		android bool
	}{{"iphone", false}, {"pixel", true}, {"ipad", false}} {
		h := w.newHandset(p.name, p.android)
		w.phones = append(w.phones, h)
		w.logIn(h, w.accounts[i/2])
	}
}

// boot is a new process on the same store: nothing in memory survives.
func (w *world) boot() {
	issuer, err := auth.NewIssuer(auth.Config{
		Name: w.store.ServerID(), Audience: "beckon",
		Access: auth.KeyRing{Current: auth.SigningKey{ID: "access-1", Key: w.keys.Access}},
		Tap:    auth.KeyRing{Current: auth.SigningKey{ID: "tap-1", Key: w.keys.Tap}},
		Permit: auth.SigningKey{ID: "permit-1", Key: w.keys.Permit},
		Epoch:  w.store.EpochNumber, Now: w.Now, Random: rand.Reader,
	})
	w.must(err)
	limits := policy.BenchLimits()
	limits.Installations = 1000
	// Workers that say nothing, or do not come at all, are not part of these
	// stories.
	const never = 50 * 365 * 24 * time.Hour
	limits.SilenceDefault, limits.NoWorkerShow = never, never
	w.app = app.New(app.Config{Store: w.store, Keys: w.keys, Tokens: auth.NewGrants(issuer), Limits: limits, Clock: w.Now})
	doorkeeper := auth.NewAuthenticator(issuer, w.app)
	edge, err := rpc.NewServer(rpc.Config{
		App: w.app, Auth: doorkeeper, Table: policy.Table(), Rates: rpc.NewRates(limits, w.Now),
		Log: slog.New(slog.DiscardHandler), LogKey: make([]byte, credential.KeySize),
	})
	w.must(err)
	mux := http.NewServeMux()
	rpc.Mount(mux, edge)
	httpapi.Mount(mux, httpapi.Config{Answer: w.app, Taps: doorkeeper, Describe: rpc.Describe, Metrics: prometheus.NewRegistry()})
	handler := http.Handler(mux)
	w.handler.Store(&handler)
	for lane := range w.ways {
		w.must(w.app.Outbox().Recover(w.ctx, lane))
	}
}

// restart is the end of one process and the start of the next.
func (w *world) restart() {
	w.boot()
	w.tell(oracle.Fact{Kind: oracle.Restarted})
	clear(w.paused)
}

// leave gives back what the story opened.
func (w *world) leave() {
	for _, h := range w.phones {
		h.device.Close()
		h.app.Close()
	}
	if w.store != nil {
		_ = w.store.Close()
	}
}

// tell writes a fact down and returns its index.
func (w *world) tell(f oracle.Fact) int {
	f.Time = w.Now()
	w.facts = append(w.facts, f)
	return len(w.facts) - 1
}

// name is a name nobody has used.
func (w *world) name(what string) string {
	w.names++
	return fmt.Sprintf("%s %d", what, w.names)
}

// rows is what the server says about every delivery.
func (w *world) rows() []oracle.Row {
	var out []oracle.Row
	for _, a := range w.accounts {
		for page := ""; ; {
			got, err := w.app.ListDeliveries(w.ctx, a.desk.Principal, app.ListDeliveries{Page: page})
			w.must(err)
			for _, r := range got.Rows {
				out = append(out, oracle.Row{
					Installation: r.Device.ID, Subject: r.Key(), Withdraw: withdraws(r.Kind), Quiet: quiet(r.Kind),
					State: string(r.State), Reason: r.Reason, Waited: !r.HeldUntil.IsZero(),
				})
			}
			if page = got.Next; page == "" {
				break
			}
		}
	}
	return out
}
