package beckon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect/v2"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/replica"
)

// Times of following, as PROTOCOL.md has them.
const (
	helloTime      = 5 * time.Second
	probeAfter     = 10 * time.Minute
	pollWait       = 25 * time.Second
	firstBackoff   = 500 * time.Millisecond
	longestBackoff = time.Minute
	// earlyEnds in a row mean that streams do not come through.
	earlyEnds = 3
	// goawayMax bounds what a server may ask for.
	goawayMax = 10 * time.Minute
)

// errSilent ends a stream of which nothing was heard for too long.
var errSilent = errors.New("beckon: the stream is silent")

// Follow keeps the inbox level until ctx ends: by a stream that hears of each
// change at once, or by long polls where streams do not come through. Whatever
// ends a stream, it goes on from where the inbox is, so nothing is lost.
//
// The function is called on the goroutine of Follow, first when the inbox is
// level and then whenever what it holds has changed and is whole; only then may
// the inbox be looked at. An error of it ends Follow. Errors: that one, the
// error of ctx, and an [*Error] that would be the same at another try.
func (i *Inbox) Follow(ctx context.Context, changed func() error) error {
	f := &following{inbox: i, changed: changed, untold: true}
	err := f.run(ctx)
	if kept := i.save(); kept != nil {
		err = errors.Join(err, kept)
	}
	return i.forget(err)
}

func (f *following) run(ctx context.Context) error {
	for {
		if err := f.round(ctx); err != nil {
			return err
		}
	}
}

// following is one call of Follow.
type following struct {
	inbox   *Inbox
	changed func() error
	// untold: something has been applied that changed was not called for.
	untold bool
	// tries is how often something failed since the inbox was level last.
	tries int
	// lost: Trouble was told that the server is away.
	lost bool
	// early is how many streams in a row ended before their first heartbeat.
	early int
	// pollUntil is when to try a stream again; zero where streams come through.
	pollUntil time.Time
	// resumed: read before anything else.
	resumed bool
	// stop is what ends Follow: an error of changed, or of keeping the inbox.
	stop error
}

// round follows in one way until it ends, and waits before the next.
func (f *following) round(ctx context.Context) error {
	round, end := f.inbox.waking.round(ctx)
	defer end(nil)
	wait, err := f.step(round)
	if err == nil {
		err = pause(round, wait)
	}
	f.resumed = f.inbox.waking.over()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case f.stop != nil:
		return f.stop
	case f.resumed:
		return nil // whatever else, it was cut off
	default:
		return err
	}
}

// step follows in one way until it ends, and says how long to wait before the
// next. An error ends everything.
func (f *following) step(ctx context.Context) (time.Duration, error) {
	if f.resumed {
		return f.settle(f.poll(ctx, 0))
	}
	if time.Now().Before(f.pollUntil) {
		err := f.poll(ctx, min(pollWait, time.Until(f.pollUntil)))
		if err != nil && ctx.Err() == nil {
			f.early, f.pollUntil = 0, time.Time{} // the server was away: no fault of streams
		}
		return f.settle(err)
	}
	if page, running := f.inbox.view.Bootstrap(); running {
		f.untold = true
		return f.settle(f.inbox.bootstrap(ctx, page))
	}
	return f.watch(ctx)
}

// settle says how to go on after a call that may have failed.
func (f *following) settle(err error) (time.Duration, error) {
	if err == nil {
		return 0, nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.verdict() {
		return 0, err
	}
	return max(f.backoff(e), e.RetryAfter), nil
}

// backoff is a random time up to a bound that doubles. err is what failed.
func (f *following) backoff(err error) time.Duration {
	if f.tries > 0 && !f.lost && f.inbox.Trouble != nil {
		f.lost = true
		f.inbox.Trouble(err)
	}
	bound := min(firstBackoff<<min(f.tries, 10), longestBackoff)
	f.tries++
	return rand.N(bound) //nolint:gosec // jitter is no secret
}

// level notes that the server was heard and nothing is missing.
func (f *following) level() {
	f.tries = 0
	if f.lost {
		f.lost = false
		f.inbox.Trouble(nil)
	}
}

func (f *following) poll(ctx context.Context, wait time.Duration) error {
	if f.untold {
		wait = 0 // what is there already is told first
	}
	before, _ := f.inbox.view.At()
	if err := f.inbox.read(ctx, wait); err != nil {
		return err
	}
	if after, _ := f.inbox.view.At(); !bytes.Equal(before, after) {
		f.untold = true
	}
	f.level()
	return f.tell()
}

// tell calls back if there is anything to tell.
func (f *following) tell() error {
	if !f.untold {
		return nil
	}
	f.untold = false
	if f.stop = f.inbox.saveSometimes(); f.stop == nil {
		f.stop = f.changed()
	}
	return f.stop
}

// watch follows one stream to its end.
func (f *following) watch(ctx context.Context) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(helloTime, func() { cancel(errSilent) })
	defer silence.Stop()
	cursor, horizon := f.inbox.view.At()
	frames, err := f.inbox.api.Sync.Watch(ctx, &v1.WatchRequest{At: []*v1.At{{Scope: accountScope(), Cursor: cursor, Horizon: horizon}}})
	if err != nil {
		return f.broken(ctx, &reading{}, err)
	}
	defer func() { _ = frames.Close() }()
	r := &reading{following: f}
	for {
		frame, err := frames.Receive()
		if err != nil {
			return f.broken(ctx, r, err)
		}
		wait, err := r.take(ctx, frame)
		if r.over || err != nil {
			return wait, err
		}
		if r.patience > 0 {
			silence.Reset(r.patience)
		}
	}
}

// broken says how to go on after a stream that ended without a Goaway.
func (f *following) broken(ctx context.Context, r *reading, err error) (time.Duration, error) {
	silent := errors.Is(context.Cause(ctx), errSilent)
	if silent {
		// HTTP/2 would carry the next try over what has just died.
		f.inbox.api.Reconnect()
	}
	e, known := errors.AsType[*Error](err)
	switch {
	case silent && r.patience == 0:
		f.early = earlyEnds
	case known && e.Code == connect.CodeUnimplemented:
		f.early = earlyEnds
	case !silent && known && e.verdict():
		return 0, err
	case !silent && !known && !errors.Is(err, io.EOF):
		return 0, err
	case !r.beaten && !neverSent(err):
		f.early++
	}
	if f.early >= earlyEnds {
		f.early = earlyEnds - 1 // at the next try one more is enough
		f.pollUntil = time.Now().Add(probeAfter)
		return 0, nil
	}
	wait := f.backoff(err)
	if known {
		wait = max(wait, e.RetryAfter)
	}
	return wait, nil
}

// reading is one stream as far as it has been read.
type reading struct {
	*following

	// patience is how long the stream may be silent; zero before the Hello.
	patience time.Duration
	// live: what was there before has all come.
	live bool
	// beaten: a heartbeat has come.
	beaten bool
	// over: the stream has nothing more to say, and that is no failure.
	over bool
}

// take applies one frame.
func (r *reading) take(ctx context.Context, frame *v1.WatchResponse) (time.Duration, error) {
	switch {
	case frame.GetHello() != nil:
		r.patience = max(frame.GetHello().GetBeat().AsDuration(), time.Second) * 22 / 10
	case frame.GetDelta() != nil:
		return r.delta(frame.GetDelta())
	case frame.GetCaughtUp() != nil:
		r.live = true
		r.level()
		return 0, r.tell()
	case frame.GetHeartbeat() != nil:
		return r.beat(ctx, frame.GetHeartbeat())
	case frame.GetGoaway() != nil:
		r.over = true
		from := min(frame.GetGoaway().GetReconnectMin().AsDuration(), goawayMax)
		to := min(frame.GetGoaway().GetReconnectMax().AsDuration(), goawayMax)
		return from + rand.N(max(to-from, 0)+1), nil //nolint:gosec // spreading load is no secret
	}
	return 0, nil
}

func (r *reading) delta(d *v1.Delta) (time.Duration, error) {
	view := r.inbox.view
	cursor, horizon := view.At()
	if reset := d.GetReset_(); reset != nil {
		view.ApplyReset(cursor)
		r.over = true
		return reset.GetAfter().AsDuration(), nil
	}
	changes := d.GetChanges()
	view.ApplyChanges(cursor, horizon, changesPage(changes))
	r.untold = true
	if r.live && !changes.GetMore() {
		return 0, r.tell()
	}
	return 0, nil
}

// beat compares where the server believes the inbox to be with where it is.
func (r *reading) beat(ctx context.Context, b *v1.Heartbeat) (time.Duration, error) {
	cursor, _ := r.inbox.view.At()
	if len(b.GetSent()) == 1 && bytes.Equal(b.GetSent()[0].GetCursor(), cursor) {
		r.beaten, r.early, r.pollUntil = true, 0, time.Time{}
		return 0, nil
	}
	r.over = true
	return r.settle(r.poll(ctx, 0))
}

func changesPage(c *v1.Changes) replica.ChangesPage {
	return replica.ChangesPage{
		Put: entities(c.GetPut()), Del: tombstones(c.GetDel()), Next: c.GetNext(),
		More: c.GetMore(), AsOf: c.GetAsOf(), Epoch: c.GetEpoch(),
	}
}
