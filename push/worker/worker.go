package worker

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/outbox"
)

// Config is one lane.
type Config struct {
	// Lane is the name rows carry.
	Lane     string
	Queue    Queue
	Provider push.Provider
	// Log hears of pauses and store failures, never of content; nil is silence.
	Log *slog.Logger
	// Senders bounds sends at once; 0 means 50. More per connection only adds
	// latency.
	Senders int
	// Batch bounds claims and finishes; 0 means 256.
	Batch int
	// Attempt bounds one send, and apart from that one re-read; 0 means 10 s.
	Attempt time.Duration
	// Lease is how long claimed rows are held; 0 means 60 s. It must leave room
	// for a re-read, a send and a finish: at least four times Attempt.
	Lease time.Duration
	// Linger is how long a verdict waits for company; 0 means 3 ms. An idle
	// lane does not wait.
	Linger time.Duration
	// IdleCap bounds how long the lane sleeps if a wake was lost; 0 means 30 s.
	IdleCap time.Duration
	Hooks   Hooks
}

// Hooks are called at the lines where a crash would be most interesting. Nil
// hooks are not called.
type Hooks struct {
	// Claimed: rows are leased and none of them has been sent.
	Claimed func()
	// Accepted: the vendor has taken a push and the outbox does not know yet.
	Accepted func()
}

// ErrConfig answers a configuration that could not work.
var ErrConfig = errors.New("push worker: configuration")

func (c Config) withDefaults() (Config, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&c.Senders, 50)
	setDefault(&c.Batch, 256)
	setDefault(&c.Attempt, 10*time.Second)
	setDefault(&c.Lease, 60*time.Second)
	setDefault(&c.Linger, 3*time.Millisecond)
	setDefault(&c.IdleCap, 30*time.Second)
	switch {
	case c.Lane == "" || c.Queue == nil || c.Provider == nil:
		return c, fmt.Errorf("%w: lane, queue and provider must be set", ErrConfig)
	case c.Lease < 4*c.Attempt:
		return c, fmt.Errorf("%w: a lease must last four attempts", ErrConfig)
	}
	return c, nil
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Worker sends the rows of one lane. Run it once; Wake may be called by anyone
// at any time.
type Worker struct {
	Config
	wake chan struct{}

	// work and results never hold more than Senders entries.
	work    chan item
	results chan Result
	// freed has one entry for each sender that became free.
	freed chan struct{}
	// open counts rows handed to senders whose result is not in results yet.
	open atomic.Int64

	// seed keys the hashes under which tokens are remembered.
	seed maphash.Seed

	mu        sync.Mutex
	circuit   outbox.Circuit
	suspicion outbox.Suspicion
}

// item is a claimed row on its way to a sender. A probe is sent although the
// circuit is open.
type item struct {
	delivery push.Delivery
	probe    bool
}

// New checks the configuration; the error is an ErrConfig.
func New(c Config) (*Worker, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Worker{
		Config:  c,
		wake:    make(chan struct{}, 1),
		work:    make(chan item, c.Senders),
		results: make(chan Result, c.Senders),
		freed:   make(chan struct{}, c.Senders),
		seed:    maphash.MakeSeed(),
	}, nil
}

// Wake says that rows may have become due. It never blocks; a lost wake costs
// at most IdleCap.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends, then lets the sends on their way finish, gives
// unsent rows back, stores all verdicts and returns.
func (w *Worker) Run(ctx context.Context) {
	var senders, finisher sync.WaitGroup
	for range w.Senders {
		senders.Go(func() { w.sendLoop(ctx) })
	}
	finisher.Go(func() { w.finishLoop(ctx) })
	w.dispatch(ctx)
	close(w.work)
	senders.Wait()
	close(w.results)
	finisher.Wait()
}
