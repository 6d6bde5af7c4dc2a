package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
)

// watched is the database with a look at when commands of an account were
// committed and at how much is read.
type watched struct {
	*boltstore.Engine

	views   atomic.Int64
	mu      sync.Mutex
	commits map[string]time.Time
}

var _ store.Engine = (*watched)(nil)

// View counts.
func (w *watched) View(ctx context.Context, account string, fn func(store.Reader) error) error {
	w.views.Add(1)
	return w.Engine.View(ctx, account, fn)
}

// Update notes the time at which a command is durable, before anybody is woken
// for it.
func (w *watched) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	err := w.Engine.Update(ctx, account, fn)
	if err == nil && account != "" {
		w.mu.Lock()
		w.commits[account] = time.Now()
		w.mu.Unlock()
	}
	return err
}

// committed is when the last command of an account was durable.
func (w *watched) committed(account string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits[account]
}

// rig is one server on a data folder.
type rig struct {
	engine *watched
	server *server.Server
	app    *app.App
	// stop ends a running server and waits for it.
	stop func() error
}

// phones is the emulator the server sends to; nil sends nothing.
func openRig(ctx context.Context, folder string, phones *emulator, senders int) (*rig, error) {
	cfg := rigConfig(folder)
	if phones != nil {
		if err := usePhones(&cfg.APNs, folder, phones); err != nil {
			return nil, err
		}
		cfg.APNs.Senders = senders
	}
	return openRigWith(ctx, cfg)
}

func rigConfig(folder string) server.Config {
	cfg := server.Config{Config: config.Default(folder)}
	cfg.Listen, cfg.Config.Limits = "127.0.0.1:0", "bench"
	return cfg
}

// openRigWith opens the server that cfg describes on the embedded database.
func openRigWith(ctx context.Context, cfg server.Config) (*rig, error) {
	bolt, err := boltstore.Open(cfg.Data, boltstore.Options{})
	if err != nil {
		return nil, err
	}
	r := &rig{engine: &watched{Engine: bolt, commits: map[string]time.Time{}}}
	cfg.Engine = r.engine
	// What fails here was closed by the server.
	if r.server, err = server.New(ctx, cfg); err != nil {
		return nil, err
	}
	r.app = r.server.App()
	return r, nil
}

func usePhones(c *config.APNs, folder string, phones *emulator) error {
	c.KeyID, c.TeamID, c.Topics = keyID, teamID, []string{topic}
	c.KeyFile, c.CAFile, c.SandboxHost = filepath.Join(folder, "key.p8"), filepath.Join(folder, "ca.pem"), phones.URL
	return errors.Join(os.WriteFile(c.KeyFile, phones.Key, 0o600), os.WriteFile(c.CAFile, phones.CA, 0o600))
}

// run lets the server serve and send.
func (r *rig) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- r.server.Run(ctx) }()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
}

// close ends the server, also one that never ran. What counts has been checked
// by then.
func (r *rig) close() {
	if r.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r.run(ctx)
	}
	_ = r.stop()
}

// quiet waits until nothing has been read for a while: the callers who were
// going to wait do.
func (r *rig) quiet(ctx context.Context, callers int) error {
	const still = 5
	look := 20 * time.Millisecond
	if callers < 10 {
		look = 2 * time.Millisecond
	}
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for last, same := int64(-1), 0; same < still; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if now := r.engine.views.Load(); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
	return nil
}

// span is what the server did between two moments.
type span struct {
	rig   *rig
	start time.Time
	cpu   time.Duration
	stats boltstore.Stats

	stop    context.CancelFunc
	peak    chan float64
	profile *os.File
}

// profileVariable names a folder that gets a CPU profile of each measured span,
// and of nothing else.
const profileVariable = "BECKON_LOAD_PROFILE"

// rssEvery is how often memory is looked at.
const rssEvery = 50 * time.Millisecond

// measure begins a span; end it.
func (r *rig) measure(ctx context.Context) *span {
	s := &span{rig: r, peak: make(chan float64, 1)}
	ctx, s.stop = context.WithCancel(ctx)
	go func() {
		most := RssAnonMB()
		ticker := time.NewTicker(rssEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				most = max(most, RssAnonMB())
			case <-ctx.Done():
				s.peak <- most
				return
			}
		}
	}()
	if folder := os.Getenv(profileVariable); folder != "" {
		if f, err := os.CreateTemp(folder, "span-*.prof"); err == nil && pprof.StartCPUProfile(f) == nil {
			s.profile = f
		}
	}
	s.start, s.cpu, s.stats = time.Now(), CPU(), r.engine.Stats()
	return s
}

// syncsPerCommit is what one commit of the database asks of the disk: the pages,
// then the page that names them.
const syncsPerCommit = 2

// end gives what happened for n things.
func (s *span) end(what string, n int) Result {
	took, cpu, stats := time.Since(s.start), CPU()-s.cpu, s.rig.engine.Stats()
	if s.profile != nil {
		pprof.StopCPUProfile()
		_ = s.profile.Close()
	}
	s.stop()
	commits := float64(stats.Commits - s.stats.Commits)
	r := Result{
		What: what, Rate: float64(n) / took.Seconds(), CPU: cpu / time.Duration(max(n, 1)),
		Commits: commits / took.Seconds(), Syncs: syncsPerCommit * commits / took.Seconds(),
		RssAnonMB: <-s.peak,
	}
	if commits > 0 {
		r.PerCommit = float64(stats.Commands-s.stats.Commands) / commits
	}
	return r
}

// operator is who adds accounts.
func operator() policy.Principal { return policy.Principal{Kind: policy.Operator} }

// crowd is how many callers fill a server at once, so that they share commits.
const crowd = 256

// each runs fn for 0 … n-1, many at once, until one of them fails.
func each(n, atOnce int, fn func(i int) error) error {
	var next atomic.Int64
	var all sync.WaitGroup
	failed := make(chan error, min(n, atOnce))
	for range cap(failed) {
		all.Go(func() {
			for len(failed) == 0 {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := fn(i); err != nil {
					failed <- fmt.Errorf("%d: %w", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}
