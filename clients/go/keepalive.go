package beckon

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// News is what a heartbeat has told: a hold, or signals not seen before.
type News struct {
	// Hold says whether the task is to stop, and by whose word.
	Hold *v1.Hold
	// Signals are new since the last News.
	Signals []*v1.Signal
}

// KeepAlive extends a lease until it is closed, and hears at once when the
// person stops the task. It owns one goroutine.
type KeepAlive struct {
	news   chan News
	done   chan struct{}
	cancel context.CancelFunc

	mu  sync.Mutex
	err error
}

// KeepAlive starts the heartbeats of a claim. The caller closes it. While the
// server is away they go on, for as long as it takes.
func (w *Work) KeepAlive(ctx context.Context) *KeepAlive {
	ctx, cancel := context.WithCancel(ctx)
	k := &KeepAlive{news: make(chan News, 1), done: make(chan struct{}), cancel: cancel}
	b := beats{work: w, keep: k}
	if n := len(w.Signals); n > 0 {
		b.seen = w.Signals[n-1].GetId()
	}
	go func() {
		defer close(k.done)
		err := b.run(ctx)
		k.mu.Lock()
		k.err = err
		k.mu.Unlock()
	}()
	return k
}

// News delivers what was heard. Who does not read it loses nothing but time:
// the next heartbeat waits.
func (k *KeepAlive) News() <-chan News { return k.news }

// Done is closed when the heartbeats have ended; Err then says why.
func (k *KeepAlive) Done() <-chan struct{} { return k.done }

// Err is why the heartbeats ended, such as [ReasonLeaseLost]; nil while they
// run and after Close.
func (k *KeepAlive) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// Close ends the heartbeats and waits for the goroutine. The lease stays until
// it runs out or is given back.
func (k *KeepAlive) Close() {
	k.cancel()
	<-k.done
}

// beats is the state of the loop.
type beats struct {
	work *Work
	keep *KeepAlive
	seen uint64
	// held is the hold that was told last; each call waits for another.
	held v1.HoldKind
}

// longestWait is how long a heartbeat stays open for news; the server cuts it
// to two thirds of the lease.
const longestWait = 20 * time.Second

func (b *beats) run(ctx context.Context) error {
	for failures := 0; ; {
		res, err := b.beat(ctx)
		if err != nil {
			err = b.work.agent.hold(ctx, err, failures)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // closed, whatever else
		case err != nil:
			return err
		case res == nil:
			failures++
			continue
		}
		failures = 0
		if !b.tell(ctx, res) {
			return nil
		}
	}
}

func (b *beats) beat(ctx context.Context) (*v1.HeartbeatResponse, error) {
	return b.work.agent.Tasks.Heartbeat(ctx, &v1.HeartbeatRequest{
		TaskId: b.work.ID(), LeaseId: b.work.Lease, AfterSignalId: b.seen, KnownHold: b.held,
		Wait: durationpb.New(longestWait),
	})
}

// tell passes news on and reports false when nobody listens any more.
func (b *beats) tell(ctx context.Context, res *v1.HeartbeatResponse) bool {
	kind := res.GetHold().GetKind()
	if kind == v1.HoldKind_HOLD_KIND_UNSPECIFIED {
		kind = v1.HoldKind_HOLD_KIND_NONE
	}
	changed := kind != b.held && (kind != v1.HoldKind_HOLD_KIND_NONE || b.held != v1.HoldKind_HOLD_KIND_UNSPECIFIED)
	b.held = kind
	if n := len(res.GetSignals()); n > 0 {
		b.seen = max(b.seen, res.GetSignals()[n-1].GetId())
	}
	if !changed && len(res.GetSignals()) == 0 {
		return true
	}
	select {
	case b.keep.news <- News{Hold: res.GetHold(), Signals: res.GetSignals()}:
		return true
	case <-ctx.Done():
		return false
	}
}
