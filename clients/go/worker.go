package beckon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Worker does the tasks of an agent, each in a handler. See the package's
// documentation for the life of one.
type Worker struct {
	// Agent is who the tasks are for.
	Agent *Agent
	// Labels of this worker: it gets tasks whose labels it has.
	Labels map[string]string
	// Concurrency is how many handlers run at once at most; 0 means 1.
	Concurrency int
	// Lease is how long a task stays in these hands when they are lost; 0 means
	// 30 s, at most 300 s.
	Lease time.Duration
	// Patience is how long a wait keeps the task in hand before it sleeps; 0
	// means 2 s, less than 0 not at all. A longer one saves a handler from being
	// run again for a quick answer, and keeps its place from other tasks.
	Patience time.Duration
	// Grace bounds two things that begin when Run, or the task, is told to stop:
	// how long the function of an effect may go on, and how long the loop tries
	// to give a task back. 0 means 10 s.
	Grace time.Duration
	// Retries is how often a handler that ended with an error of no known kind
	// is run again, after 1 s, 4 s, 16 s … up to an hour, before the task fails;
	// 0 means 4, less than 0 never. A checkpoint or step between starts anew.
	Retries int
	// Schema numbers the shape of what the handler stores. A task with a higher
	// one is left for a newer worker.
	Schema uint32
	// Log hears of errors of handlers and of calls that were given up; nil for
	// nowhere. They stay on this machine.
	Log *slog.Logger
}

func (w Worker) withDefaults() Worker {
	if w.Concurrency <= 0 {
		w.Concurrency = 1
	}
	if w.Lease <= 0 {
		w.Lease = 30 * time.Second
	}
	if w.Patience == 0 {
		w.Patience = 2 * time.Second
	}
	if w.Grace <= 0 {
		w.Grace = 10 * time.Second
	}
	if w.Retries == 0 {
		w.Retries = 4
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	return w
}

// Run claims tasks and runs handle on each until ctx ends. Then the contexts of
// the handlers end with [ErrShutdown], what is in hand is given back, and Run
// returns nil when every handler has returned and everything it started has
// ended. A server that is away is waited for. Error: an [*Error] by which the
// server refuses the worker for good, such as [ReasonRevoked].
func (w Worker) Run(ctx context.Context, handle func(ctx context.Context, t *Task) error) error {
	l := loop{Worker: w.withDefaults(), handle: handle}
	// Handlers outlive ctx by the time it takes to give their tasks back.
	handlers, shutDown := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer shutDown(ErrShutdown)
	defer context.AfterFunc(ctx, func() { shutDown(ErrShutdown) })()

	places := make(chan struct{}, l.Concurrency)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		work, err := l.claim(ctx)
		if work == nil {
			return err
		}
		running.Go(func() {
			defer func() { <-places }()
			l.do(handlers, work)
		})
	}
}

// loop is one call of Run.
type loop struct {
	Worker

	handle func(context.Context, *Task) error
}

// claim waits for a task. Nothing and no error means that ctx has ended.
func (l *loop) claim(ctx context.Context) (*Work, error) {
	req := &v1.ClaimTaskRequest{
		Claim:  &v1.ClaimOptions{ClaimId: NewID(), LeaseDuration: durationpb.New(l.Lease)},
		Labels: l.Labels,
	}
	work, err := l.Agent.Claim(ctx, req)
	if ctx.Err() == nil {
		return work, err
	}
	l.giveBack(ctx, work, req)
	return nil, nil //nolint:nilnil // see above
}

// giveBack releases a task that was claimed while ctx ended, also where the
// answer did not come through: its claim id finds it.
func (l *loop) giveBack(ctx context.Context, work *Work, req *v1.ClaimTaskRequest) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Grace)
	defer cancel()
	if work == nil {
		req.Wait = nil
		res, err := l.Agent.Tasks.ClaimTask(ctx, req)
		if err != nil || res.GetClaim() == nil {
			return // with a lease that nobody keeps, at worst
		}
		work = l.Agent.work(res.GetClaim())
	}
	if _, err := work.Release(ctx); err != nil {
		l.Log.WarnContext(ctx, "a task was not given back", slog.String("task", work.ID()), slog.Any("error", err))
	}
}

// outlast is a context that ends d after base has, with its cause, or when
// finish is called, which waits for what this started.
func outlast(base context.Context, d time.Duration) (ctx context.Context, finish func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(base))
	ended := make(chan struct{})
	stop := context.AfterFunc(base, func() {
		defer close(ended)
		_ = pause(ctx, d) // ends early with ctx
		cancel(context.Cause(base))
	})
	return ctx, func() {
		cancel(nil)
		if !stop() {
			<-ended
		}
	}
}

// try repeats a call of the agent until it has an answer, or ctx ends: then the
// error says why it has.
func try[T any](ctx context.Context, a *Agent, call func() (T, error)) (T, error) {
	for n := 0; ; n++ {
		got, err := call()
		if err == nil {
			return got, nil
		}
		if err := a.hold(ctx, err, n); err != nil {
			if cause := causeOf(ctx); cause != nil && !errors.Is(err, cause) {
				err = fmt.Errorf("%w (%w)", cause, err)
			}
			return got, err
		}
	}
}
