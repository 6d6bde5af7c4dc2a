package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// Config is one run.
type Config struct {
	Seed  uint64
	Steps int
	// Open opens the engine on nothing, or on what an earlier process left.
	// Reopen, when set, is what a restart does to an engine; else it lives on.
	Open   func() (store.Engine, error)
	Reopen func(store.Engine) (store.Engine, error)
}

// Report is what a run saw.
type Report struct {
	// Trace has a line for every call and its answer.
	Trace []string
	// Dump is the whole store at the end.
	Dump []string
	// Visits count how often a command met a state.
	Visits Visits
}

// RuleError is a rule that did not hold.
type RuleError struct {
	Seed uint64
	Step int
	// Rule is the name in RULES.md, where one can be named.
	Rule string
	Text string
	// Tail are the last calls before it.
	Tail []string
}

// Error implements error.
func (f *RuleError) Error() string {
	return fmt.Sprintf("seed %d, step %d: %s: %s\nagain with: make sim SEED=%d N=1\n  %s\n",
		f.Seed, f.Step, f.Rule, f.Text, f.Seed, strings.Join(f.Tail, "\n  "))
}

// world is one server with everybody around it.
type world struct {
	Config
	//nolint:containedctx // one run is one call; the steps have no other owner
	ctx    context.Context
	rand   *rand.Rand
	random io.Reader
	wall   time.Time
	step   int

	engine *engine
	store  *store.Store
	app    *app.App
	keys   credential.Keys
	taps   map[string]app.TapGrant

	account string
	agents  []*agent
	workers []*process
	devices []*device
	vendor  *vendor
	clients []*client

	model  *model
	alerts alerts
	// retries are calls whose answer somebody never heard.
	retries []call
	serial  int
	// heads is the account scope's head before the step, shown when each
	// header last moved.
	seen   headers
	trace  []string
	visits Visits
}

// byteStream makes ids and secrets: one seed, one stream.
type byteStream struct{ source *rand.ChaCha8 }

func (s byteStream) Read(b []byte) (int, error) { return s.source.Read(b) }

// Run drives one seed. The error is a [*RuleError], or that of the environment.
func Run(ctx context.Context, cfg Config) (report Report, err error) {
	w := newWorld(ctx, cfg)
	if err := w.begin(); err != nil {
		return Report{}, err
	}
	defer func() {
		if cause := recover(); cause != nil {
			failure, ok := cause.(*RuleError)
			if !ok {
				panic(fmt.Sprintf("seed %d, step %d: %v", cfg.Seed, w.step, cause))
			}
			err = failure
		}
		if closing := w.engine.Close(); err == nil {
			err = closing
		}
		report.Trace, report.Visits = w.trace, w.visits
	}()
	w.check()
	for w.step = 1; w.step <= cfg.Steps; w.step++ {
		w.act()
	}
	w.drain()
	report.Dump, err = w.dump()
	return report, err
}

func newWorld(ctx context.Context, cfg Config) *world {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], cfg.Seed)
	w := &world{
		Config: cfg, ctx: ctx,
		rand:   rand.New(rand.NewPCG(cfg.Seed, 0x62656b)),
		random: byteStream{rand.NewChaCha8(seed)},
		wall:   time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
		taps:   map[string]app.TapGrant{},
		alerts: alerts{want: map[alertKey]bool{}, showing: map[alertSubject]bool{}, back: map[screenKey]bool{}},
		visits: Visits{},
	}
	w.seen.moved = map[string]time.Time{}
	return w
}

// begin opens the store and moves everybody in.
func (w *world) begin() error {
	inner, err := w.Open()
	if err != nil {
		return err
	}
	w.engine = &engine{Engine: inner, wall: w.clock, tables: map[store.Table]bool{}}
	master, err := credential.NewKey(make([]byte, credential.KeySize))
	if err != nil {
		return err
	}
	if w.keys, err = credential.DeriveKeys(master, 1); err != nil {
		return err
	}
	if w.account, err = store.NewAccountKey(w.random); err != nil {
		return err
	}
	w.engine.account = w.account
	limits := w.limits()
	w.model = &model{now: w.now, once: map[string]remembered{}, limits: bounds{
		tasks: limits.OpenTasks, decisions: limits.OpenDecisions, decisionsPerTask: limits.OpenDecisionsPerTask,
		attempts: limits.MaxAttemptsDefault, lease: limits.LeaseDefault, remember: limits.Idempotency,
	}}
	if err := w.start(); err != nil {
		return err
	}
	return w.settle()
}

// limits are low, so that they are met.
func (w *world) limits() policy.Limits {
	l := policy.DefaultLimits()
	l.OpenTasks, l.OpenDecisions, l.OpenDecisionsPerTask = 9, 5, 3
	l.TimersPerTask = timersAtOnce
	l.MaxAttemptsDefault = 5
	// Who is there for a task, and who says nothing, is not part of this story.
	l.NoWorkerShow, l.SilenceDefault = farAway, farAway
	l.DueAtOnce = 1 // or the order would not be the seed's
	return l
}

// farAway is later than any story goes.
const farAway = 50 * 365 * 24 * time.Hour

// start is what a process does first.
func (w *world) start() error {
	st, err := store.Open(w.ctx, w.engine, store.Config{Clock: w.clock, Random: w.random})
	if err != nil {
		return err
	}
	w.store = st
	w.app = app.New(app.Config{
		Store: st, Keys: w.keys, Tokens: tokens{w}, Limits: w.limits(), Clock: w.clock, Random: w.random,
	})
	w.model.started = micro(w.wall)
	return nil
}

// restart is the next process over what the last one left.
func (w *world) restart() {
	if w.chance(2) {
		w.sleep()
	}
	w.engine.begin(0, false)
	if w.Reopen != nil {
		inner, err := w.Reopen(w.engine.Engine)
		w.must(err)
		w.engine.Engine = inner
	}
	w.must(w.start())
	w.vendor.forget()
	if w.chance(2) {
		w.must(w.app.Outbox().Recover(w.ctx, lane))
		clear(w.vendor.leases)
	}
	w.note("restart", "")
}

// clock is the wall clock; now the time of the account, which never goes back.
func (w *world) clock() time.Time { return w.wall }

func (w *world) now() time.Time { return later(micro(w.wall), w.engine.last) }

// chance is true once in n.
func (w *world) chance(n int) bool { return w.rand.IntN(n) == 0 }

func pick[T any](w *world, all []T) T { return all[w.rand.IntN(len(all))] }

// name makes a new name for keys and claims.
func (w *world) name(what string) string {
	w.serial++
	return fmt.Sprintf("%s%d", what, w.serial)
}

// must stops the run where the simulation itself cannot go on.
func (w *world) must(err error) {
	if err != nil {
		w.failf("sim", "%v", err)
	}
}

// tailLines is how much of the story a failure shows.
const tailLines = 40

// failf ends the run: a rule did not hold.
func (w *world) failf(rule, format string, args ...any) {
	panic(&RuleError{
		Seed: w.Seed, Step: w.step, Rule: rule, Text: fmt.Sprintf(format, args...),
		Tail: w.trace[max(0, len(w.trace)-tailLines):],
	})
}

// note adds a line to the story.
func (w *world) note(call, answer string) {
	line := fmt.Sprintf("%4d %s %s", w.step, w.wall.Format("01-02 15:04:05.000"), call)
	if answer != "" {
		line += " -> " + answer
	}
	w.trace = append(w.trace, strings.ReplaceAll(line, "_"+w.account+"_", "-"))
}

// tokens makes the credentials of the buttons on notifications.
type tokens struct{ w *world }

// Access is not used here: callers are known.
func (tokens) Access(g app.AccessGrant) (credential.Secret, time.Time, error) {
	return credential.NewSecret("access " + g.Installation), g.Now, nil
}

// Tap remembers what a button stands for, as the signed token would.
func (t tokens) Tap(g app.TapGrant) (string, error) {
	id := fmt.Sprintf("tap-%d", len(t.w.taps))
	t.w.taps[id] = g
	return id, nil
}

// Permit says in clear what it permits.
func (tokens) Permit(g app.PermitGrant) (string, time.Time, error) {
	return fmt.Sprintf("permit %s %d", g.Effect, g.Generation), g.Now.Add(time.Minute), nil
}
