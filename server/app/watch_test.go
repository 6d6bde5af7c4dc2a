package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// frame is one thing a watcher was told, and when.
type frame struct {
	what  string // hello, delta, caught up, beat, goaway
	after time.Duration
	hello app.Hello
	delta app.Delta
	sent  []app.At
	// back is between which times to reconnect.
	back [2]time.Duration
}

// screen is a watcher that takes every frame at once, or none while it is
// stuck.
type screen struct {
	began time.Time

	mu        sync.Mutex
	frames    []frame
	abandoned int
	// stuck, where it is not nil, holds frames until Abandon.
	stuck chan struct{}
}

var errAbandoned = errors.New("abandoned")

func (s *screen) take(f frame) error {
	s.mu.Lock()
	stuck := s.stuck
	f.after = time.Since(s.began)
	if stuck == nil {
		s.frames = append(s.frames, f)
	}
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
		return errAbandoned
	}
	return nil
}

func (s *screen) Hello(h app.Hello) error { return s.take(frame{what: "hello", hello: h}) }
func (s *screen) Delta(d app.Delta) error { return s.take(frame{what: "delta", delta: d}) }
func (s *screen) CaughtUp() error         { return s.take(frame{what: "caught up"}) }
func (s *screen) Heartbeat(sent []app.At) error {
	return s.take(frame{what: "beat", sent: slices.Clone(sent)})
}

func (s *screen) Goaway(from, to time.Duration) error {
	return s.take(frame{what: "goaway", back: [2]time.Duration{from, to}})
}

func (s *screen) Abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandoned++; s.stuck != nil && s.abandoned == 1 {
		close(s.stuck)
	}
}

// stick lets the next frame block.
func (s *screen) stick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stuck = make(chan struct{})
}

// seen is what has been taken, without what was seen before.
func (s *screen) seen() []frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.frames
	s.frames = nil
	return out
}

func words(frames []frame) []string {
	out := make([]string, len(frames))
	for i, f := range frames {
		out[i] = f.what
	}
	return out
}

// watching is a stream in a bubble.
type watching struct {
	*screen
	stop context.CancelFunc
	done chan error
}

// open starts a stream of a device and waits until it is level and its next read
// needs no waiting.
func (h *harness) open(by device, at ...app.At) *watching {
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	w := &watching{screen: &screen{began: time.Now()}, stop: cancel, done: make(chan error, 1)}
	go func() { w.done <- h.app.Watch(ctx, by.Principal, app.Watch{At: at}, w.screen) }()
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return w
}

// end closes the stream from the client's side.
func (w *watching) end(t *testing.T) {
	t.Helper()
	w.stop()
	if err := <-w.done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client went away: %v", err)
	}
}

// ended reports how the stream has ended; it has to have.
func (w *watching) ended(t *testing.T) error {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-w.done:
		return err
	default:
		t.Fatal("the stream goes on")
		return nil
	}
}

func TestWatch_Order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		at := h.cursor(changelog.AccountScope)
		h.createTask("before")
		w := h.open(h.phone, at)
		frames := w.seen()
		if diff := cmp.Diff([]string{"hello", "delta", "caught up"}, words(frames)); diff != "" {
			t.Fatal(diff)
		}
		hello := frames[0].hello
		if hello.Epoch != h.store.Epoch() || hello.Beat < 20*time.Second || hello.Beat > 30*time.Second ||
			hello.MaxAge < 15*time.Minute || hello.MaxAge > 30*time.Minute {
			t.Errorf("hello %+v", hello)
		}
		position := frames[1].delta
		// Silence, then a beat with the positions behind what was sent.
		time.Sleep(hello.Beat)
		synctest.Wait()
		beats := w.seen()
		if len(beats) != 1 || beats[0].what != "beat" || beats[0].after != hello.Beat || len(beats[0].sent) != 1 ||
			!bytes.Equal(beats[0].sent[0].Cursor, position.Next) || !bytes.Equal(beats[0].sent[0].Horizon, position.AsOf) {
			t.Fatalf("%+v", beats)
		}
		time.Sleep(time.Second)
		now := time.Since(w.began)
		h.createTask("later")
		synctest.Wait()
		if got := w.seen(); len(got) != 1 || got[0].what != "delta" || got[0].after != now {
			t.Errorf("a change is told as %+v", got)
		}
		// Nothing else happens until the stream is old.
		time.Sleep(hello.MaxAge)
		err := w.ended(t)
		all := w.seen()
		last := all[len(all)-1]
		if err != nil || last.what != "goaway" || last.after != hello.MaxAge || last.back[1] <= last.back[0] {
			t.Errorf("%v at the end of %v: %+v", err, hello.MaxAge, last)
		}
		if want := int((hello.MaxAge - hello.Beat) / hello.Beat); len(all)-1 < want-1 || len(all)-1 > want+1 {
			t.Errorf("%d beats in %v, one each %v", len(all)-1, hello.MaxAge, hello.Beat)
		}
	})
}

// The first wake reads at once; then changes gather for 10 ms, and nothing
// queues for them.
func TestWatch_LeadingEdge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		w := h.open(h.phone, h.cursor(changelog.AccountScope))
		w.seen()
		time.Sleep(time.Second)
		before := h.commits.views.Load()
		began := time.Since(w.began)
		for i := range 100 {
			h.createTask(fmt.Sprint(i))
			synctest.Wait()
		}
		burst := w.seen()
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		rest := w.seen()
		if len(burst) != 1 || burst[0].after != began || len(rest) != 1 || rest[0].after != began+10*time.Millisecond {
			t.Errorf("%d frames at once, %+v later", len(burst), words(rest))
		}
		if n := h.commits.views.Load() - before - 100; n > 2 { // each task reads once itself
			t.Errorf("a burst of 100 changes cost %d reads", n)
		}
		w.end(t)
	})
}

// A wake of one scope reads that scope only, and a neighbour's nothing.
func TestWatch_OneDirtyBitForEachScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("one")
		items := changelog.ThreadScope(s.Thread)
		w := h.open(h.phone, h.cursor(changelog.AccountScope), h.cursor(items))
		w.seen()
		time.Sleep(time.Second)
		h.append(held, thread.RoleTool, thread.Output, false, "line")
		synctest.Wait()
		if got := w.seen(); len(got) != 1 || got[0].delta.Scope != items {
			t.Errorf("a line of output is told as %+v", got)
		}
		stranger := h.newAccount()
		loner, _ := h.newAgent(stranger, "Loner")
		created := h.commits.views.Load()
		h.foreignTask(stranger, loner)
		synctest.Wait()
		if n := h.commits.views.Load() - created; n != 0 {
			t.Errorf("a neighbour's task cost %d reads", n)
		}
		w.end(t)
	})
}

// A wake that got lost costs one beat.
func TestWatch_ALostWakeCostsABeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		w := h.open(h.phone, h.cursor(changelog.AccountScope))
		hello := w.seen()[0].hello
		h.update(h.account, func(tx *store.Tx) error { return tx.PutSettings(store.Settings{Level: store.LevelFull}) })
		synctest.Wait()
		if got := w.seen(); len(got) != 0 {
			t.Fatal("the wake was not lost:", words(got))
		}
		time.Sleep(hello.Beat)
		synctest.Wait()
		if diff := cmp.Diff([]string{"delta", "beat"}, words(w.seen())); diff != "" {
			t.Error(diff)
		}
		w.end(t)
	})
}

// SY13 and the trust rule: a device that is revoked hears nothing more, also
// one that is blocked in a frame nobody reads.
func TestWatch_EndsWithTheDevice(t *testing.T) {
	t.Parallel()
	for _, stuck := range []bool{false, true} {
		t.Run(fmt.Sprint("stuck ", stuck), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t)
				other := h.newDevice(h.account, store.PlatformIOS)
				w, kept := h.open(other, h.cursor(changelog.AccountScope)), h.open(h.phone, h.cursor(changelog.AccountScope))
				w.seen()
				if stuck {
					w.stick()
					h.createTask("unread")
					synctest.Wait()
				}
				h.elevate(h.phone)
				check(t, h.app.RevokeInstallation(t.Context(), h.phone.Principal, other.Installation))
				sameError(t, w.ended(t), app.ErrRevoked)
				if got := w.seen(); len(got) != 0 && !stuck {
					t.Error("a revoked device was told", words(got))
				}
				if n := h.app.OpenStreams(); n != 1 {
					t.Errorf("%d streams are open", n)
				}
				kept.end(t)
				// And it opens no other one.
				err := h.app.Watch(t.Context(), other.Principal, app.Watch{At: []app.At{h.cursor(changelog.AccountScope)}}, &screen{})
				sameError(t, err, app.ErrRevoked)
			})
		})
	}
}

// Streams are counted exactly, and given back however they end.
func TestWatch_Caps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, withLimits(func(l *policy.Limits) { l.StreamsPerDevice, l.StreamsPerAccount = 2, 3 }))
		second := h.newDevice(h.account, store.PlatformIOS)
		at := h.cursor(changelog.AccountScope)
		refused := func(by device, what string, most int64) {
			t.Helper()
			err := h.app.Watch(t.Context(), by.Principal, app.Watch{At: []app.At{at}}, &screen{})
			if e, ok := errors.AsType[*app.StreamsError](err); !ok || e.What != what || e.Max != most {
				t.Errorf("refused with %v, want %d streams of one %s", err, most, what)
			}
		}
		a, b := h.open(h.phone, at), h.open(h.phone, at)
		refused(h.phone, "device", 2)
		c := h.open(second, at)
		refused(second, "account", 3)
		stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
		d := h.open(stranger, app.At{Scope: changelog.AccountScope, Cursor: at.Cursor}) // another account; its cursor is not
		sameError(t, d.ended(t), nil)
		if n := h.app.OpenStreams(); n != 3 {
			t.Errorf("%d streams are open", n)
		}
		// The client goes, a frame fails, the reset of the only scope.
		a.end(t)
		b.stick()
		h.createTask("unread")
		synctest.Wait()
		b.Abandon()
		sameError(t, b.ended(t), errAbandoned)
		if n := h.app.OpenStreams(); n != 1 {
			t.Errorf("%d streams are open", n)
		}
		e, f := h.open(h.phone, at), h.open(h.phone, at)
		refused(h.phone, "device", 2)
		for _, w := range []*watching{c, e, f} {
			w.end(t)
		}
		if n := h.app.OpenStreams(); n != 0 {
			t.Errorf("%d streams are open", n)
		}
	})
}

// A server that goes away says so to everybody, with a window that fits, and
// does not wait for who does not read.
func TestGoAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, withLimits(func(l *policy.Limits) { l.ResumeRate = 2 }))
		at := h.cursor(changelog.AccountScope)
		a, b, stuck := h.open(h.phone, at), h.open(h.phone, at), h.open(h.phone, at)
		for _, w := range []*watching{a, b, stuck} {
			w.seen()
		}
		stuck.stick()
		h.createTask("unread")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		sameError(t, h.app.GoAway(ctx), context.DeadlineExceeded)
		for _, w := range []*watching{a, b} {
			err, frames := w.ended(t), w.seen()
			last := frames[len(frames)-1]
			if err != nil || last.what != "goaway" || last.back != [2]time.Duration{time.Second, time.Second + 1500*time.Millisecond} {
				t.Errorf("%v after %+v", err, last)
			}
		}
		sameError(t, h.app.Watch(t.Context(), h.phone.Principal, app.Watch{At: []app.At{at}}, &screen{}), app.ErrLeaving)
		stuck.stop()
		t.Log("the stream ended with:", <-stuck.done)
		check(t, h.app.GoAway(t.Context())) // nobody is left
	})
}

// Every cursor that Pull judges is judged alike by Watch.
func TestWatch_JudgesLikePull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("one")
		account, items := h.cursor(changelog.AccountScope), h.cursor(changelog.ThreadScope(s.Thread))
		h.append(held, thread.RoleAgent, thread.Message, true, "hello")
		codec := changelog.NewCodec(h.keys.Stamp.Reveal())
		at := func(e changelog.Epoch, seq changelog.Seq) app.At {
			p := changelog.Position{Epoch: e, Seq: seq}
			return app.At{
				Scope: changelog.AccountScope, Cursor: codec.Cursor(h.account, changelog.AccountScope, p),
				Horizon: codec.Stamp(h.account, changelog.AccountScope, p),
			}
		}
		for name, c := range map[string][]app.At{
			"good":                 {account},
			"two scopes":           {account, items},
			"the same twice":       {account, account},
			"garbage":              {{Cursor: []byte("garbage"), Horizon: account.Horizon}},
			"of another scope":     {{Scope: items.Scope, Cursor: account.Cursor, Horizon: items.Horizon}},
			"of the future":        {at(h.store.Epoch(), 1_000_000)},
			"of another history":   {at(changelog.Epoch{1}, 1)},
			"bad beside good":      {{}, account, {Scope: changelog.ThreadScope("thr_nothing"), Cursor: account.Cursor}, items},
			"level":                {h.cursor(changelog.AccountScope)},
			"a thread of nobody's": {{Scope: changelog.ThreadScope(s.Thread[:len(s.Thread)-4] + "0000"), Cursor: items.Cursor}},
		} {
			deltas, err := h.app.Pull(t.Context(), h.phone.Principal, app.Pull{At: c})
			check(t, err)
			deltas = slices.DeleteFunc(deltas, func(d app.Delta) bool { return d.Reset == changelog.NoReset && d.Page.Empty() })
			w := h.open(h.phone, c...)
			var told []app.Delta
			for _, f := range w.seen() {
				if f.what == "delta" {
					told = append(told, f.delta)
				}
			}
			if diff := cmp.Diff(deltas, told, cmpopts.EquateEmpty(), sameContent()); diff != "" {
				t.Errorf("%s (-pull +watch):\n%s", name, diff)
			}
			w.stop()
			t.Log("the stream ended with:", <-w.done)
		}
	})
}

// keeper keeps a copy of both scopes in its own way.
type keeper struct {
	name   string
	copies map[changelog.Scope]copyOf
	at     []app.At
}

func (f *keeper) fold(t *testing.T, deltas []app.Delta) (more bool) {
	t.Helper()
	for _, d := range deltas {
		if d.Reset != changelog.NoReset {
			t.Fatalf("%s was reset: %v", f.name, d.Reset)
		}
		f.copies[d.Scope].fold([]app.Delta{d})
		for i := range f.at {
			if f.at[i].Scope == d.Scope {
				f.at[i].Cursor, f.at[i].Horizon = d.Next, d.AsOf
			}
		}
		more = more || d.Page.More
	}
	return more
}

// A watcher, a long poll and a poller see the same states under random writes.
func TestWatch_SameStatesAsPull(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { sameStates(t, rand.New(rand.NewPCG(seed, 26))) })
		})
	}
}

func sameStates(t *testing.T, r *rand.Rand) {
	h := newHarness(t)
	s, held := h.startTask("one")
	scopes := []changelog.Scope{changelog.AccountScope, changelog.ThreadScope(s.Thread)}
	all := map[string]*keeper{}
	for _, name := range []string{"watcher", "long poll", "poller"} {
		f := &keeper{name: name, copies: map[changelog.Scope]copyOf{}}
		for _, scope := range scopes {
			f.copies[scope] = h.fresh(scope)
			f.at = append(f.at, h.cursor(scope))
		}
		all[name] = f
	}
	w := h.open(h.phone, all["watcher"].at...)
	write := h.writes(held)
	for range 40 {
		polled := h.longPull(t.Context(), time.Hour, all["long poll"].at...)
		synctest.Wait()
		for range r.IntN(4) {
			write[r.IntN(len(write))]()
			if r.IntN(3) == 0 {
				synctest.Wait()
			}
			if r.IntN(3) == 0 {
				time.Sleep(time.Duration(r.IntN(20)) * time.Millisecond)
			}
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		for _, f := range w.seen() {
			if f.what == "delta" {
				all["watcher"].fold(t, []app.Delta{f.delta})
			}
		}
		got := <-polled
		check(t, got.err)
		all["long poll"].fold(t, got.deltas)
		for _, name := range []string{"long poll", "poller"} {
			for more := true; more; {
				deltas, err := h.app.Pull(t.Context(), h.phone.Principal, app.Pull{At: all[name].at, MaxBytes: 1 + r.IntN(4000)})
				check(t, err)
				more = all[name].fold(t, deltas)
			}
		}
		for _, scope := range scopes {
			want := h.fresh(scope)
			for name, f := range all {
				if diff := cmp.Diff(want, f.copies[scope]); diff != "" {
					t.Fatalf("%s differs in %v (-fresh +held):\n%s", name, scope, diff)
				}
			}
		}
	}
	for i := range scopes {
		if !bytes.Equal(all["watcher"].at[i].Cursor, all["poller"].at[i].Cursor) {
			t.Error("the watcher and the poller stand at different places")
		}
	}
	w.stop()
	t.Log("the stream ended with:", <-w.done)
}

// writes are things that happen in an account.
func (h *harness) writes(held app.Held) []func() {
	n := 0
	next := func() string {
		n++
		return fmt.Sprint("write ", n)
	}
	var open []decision.State
	var tasks []string
	return []func(){
		func() { tasks = append(tasks, h.createTask(next()).ID) },
		func() { h.append(held, thread.RoleTool, thread.Output, false, next()) },
		func() { h.append(held, thread.RoleAgent, thread.Message, true, next()) },
		func() { open = append(open, h.ask(held, next(), decision.WriteReversible)) },
		func() {
			if len(open) > 0 {
				h.answer(h.phone, open[0], "approve")
				open = open[1:]
			}
		},
		func() {
			if len(tasks) > 0 {
				h.stop(next(), tasks[0])
				tasks = tasks[1:]
			}
		},
		func() {
			gone := h.newDevice(h.account, store.PlatformIOS)
			h.elevate(h.phone)
			check(h.t, h.app.RevokeInstallation(h.t.Context(), h.phone.Principal, gone.Installation))
		},
	}
}
