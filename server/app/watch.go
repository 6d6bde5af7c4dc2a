package app

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/feed"
)

// Watch asks to be told what changes for as long as the stream lives.
type Watch struct {
	At       []At
	MaxBytes int
}

// Hello is what a stream begins with.
type Hello struct {
	Epoch        changelog.Epoch
	Beat, MaxAge time.Duration
}

// Watcher is whom frames are sent to, one at a time; an error ends the stream.
type Watcher interface {
	Hello(h Hello) error
	Delta(d Delta) error
	CaughtUp() error
	// Heartbeat carries the positions behind what was sent. They are only good
	// until it returns.
	Heartbeat(sent []At) error
	Goaway(reconnectMin, reconnectMax time.Duration) error
	// Abandon makes a frame fail soon that nobody reads. It is called from
	// another goroutine when the stream has to end, and may come at any time
	// until Watch has returned.
	Abandon()
}

// readEvery is the least time between two reads of a watcher. The first wake
// after a pause reads at once; in a burst, changes gather.
const readEvery = 10 * time.Millisecond

// ageSpread is over which time clients come back whose stream was old.
const ageSpread = time.Second

// Watch sends what Pull would find, again and again, until the stream is old,
// the server goes away or ctx ends. Nothing queues for a watcher: it holds one
// dirty bit a scope, and reads from its own position when it is woken. Nil means
// a Goaway or that no scope is left. Errors: *StreamsError, ErrLeaving,
// ErrRevoked within moments of the revocation, the cause of ctx, and those of
// the Watcher.
func (a *App) Watch(ctx context.Context, p policy.Principal, c Watch, to Watcher) error {
	if !p.Person() {
		return ErrWrongPrincipal
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	in, err := a.streams.enter(p, end)
	if err != nil {
		return err
	}
	defer a.streams.exit(in)
	defer context.AfterFunc(ctx, to.Abandon)()
	w := &watching{app: a, who: p, to: to, maxBytes: c.MaxBytes, at: append([]At(nil), c.At...)}
	err = w.run(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // the frame failed because of it
	}
	return err
}

// watching is one stream.
type watching struct {
	app      *App
	who      policy.Principal
	to       Watcher
	maxBytes int
	sub      *feed.Sub

	// at is the positions behind what was sent, and over has a bit for each
	// scope that was reset.
	at   []At
	over uint64
	// read is when the last read began.
	read time.Time
}

// scopes has a bit for each scope that is still watched.
func (w *watching) scopes() uint64 { return (1<<len(w.at) - 1) &^ w.over }

func (w *watching) run(ctx context.Context) error {
	topics := append(topicsOf(w.who, w.at), "installation:"+w.who.Installation)
	w.sub = w.app.hub.Subscribe(topics...)
	defer w.sub.Close()
	l := w.app.limits
	beat := l.Beat*4/5 + jitter(l.Beat*2/5)
	age := l.StreamAgeMin + jitter(l.StreamAgeMax-l.StreamAgeMin)
	old := time.NewTimer(age)
	defer old.Stop()
	if err := w.to.Hello(Hello{Epoch: w.app.store.Epoch(), Beat: beat, MaxAge: age}); err != nil {
		return err
	}
	if err := w.level(ctx, w.scopes()); err != nil || w.scopes() == 0 {
		return err
	}
	if err := w.to.CaughtUp(); err != nil {
		return err
	}
	return w.live(ctx, beat, old.C)
}

func (w *watching) live(ctx context.Context, beat time.Duration, old <-chan time.Time) error {
	next := time.NewTimer(beat)
	defer next.Stop()
	for w.scopes() != 0 {
		var err error
		select {
		case <-w.sub.C():
			err = w.woken(ctx)
		case <-next.C:
			next.Reset(beat)
			err = w.beat(ctx)
		case <-old:
			return w.to.Goaway(0, ageSpread)
		case <-w.app.streams.leaving:
			return w.to.Goaway(goawayLeast, goawayLeast+w.app.streams.spread())
		case <-ctx.Done():
			return ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// woken reads what is dirty. Whether the device is still one is read with it,
// so a wake for the device alone reads as well.
func (w *watching) woken(ctx context.Context) error {
	if wait := readEvery - time.Since(w.read); wait > 0 {
		gather := time.NewTimer(wait)
		defer gather.Stop()
		select {
		case <-gather.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	dirty := w.sub.Take()
	if dirty == 0 {
		return nil // a beat has read it
	}
	return w.level(ctx, dirty)
}

// beat reads everything before it says that all is well: a wake that was lost
// costs one beat and no more.
func (w *watching) beat(ctx context.Context) error {
	w.sub.Take()
	if err := w.level(ctx, w.scopes()); err != nil {
		return err
	}
	sent := make([]At, 0, len(w.at))
	for i, at := range w.at {
		if w.over&(1<<i) == 0 {
			sent = append(sent, at)
		}
	}
	return w.to.Heartbeat(sent)
}

// level sends pages of the dirty scopes until nothing is left of them.
func (w *watching) level(ctx context.Context, dirty uint64) error {
	for first := true; first || dirty&w.scopes() != 0; first = false {
		w.read = time.Now()
		var at []At
		var which []int
		for i := range w.at {
			if dirty&w.scopes()&(1<<i) != 0 {
				at, which = append(at, w.at[i]), append(which, i)
			}
		}
		deltas, err := w.app.pull(ctx, w.who, Pull{At: at, MaxBytes: w.maxBytes})
		if err != nil {
			return err
		}
		dirty = 0
		for n, d := range deltas {
			more, err := w.send(which[n], d)
			if err != nil {
				return err
			}
			if more {
				dirty |= 1 << which[n]
			}
		}
	}
	return nil
}

// send sends what a read found in one scope, if it is anything.
func (w *watching) send(i int, d Delta) (more bool, err error) {
	if d.Reset != changelog.NoReset {
		w.over |= 1 << i
		return false, w.to.Delta(d)
	}
	if d.Page.Empty() && bytes.Equal(d.Next, w.at[i].Cursor) {
		return false, nil
	}
	w.at[i].Cursor, w.at[i].Horizon = d.Next, d.AsOf
	return d.Page.More, w.to.Delta(d)
}

// topicsOf are the wakes for scopes, in their order.
func topicsOf(p policy.Principal, at []At) []string {
	topics := make([]string, len(at))
	for i, at := range at {
		topics[i] = "account:" + p.Account
		if at.Scope.Thread != "" {
			topics[i] = "thread:" + at.Scope.Thread
		}
	}
	return topics
}

// jitter is between nothing and d.
func jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return rand.N(d) //nolint:gosec // spreading load is no secret
}
