package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/thread"
)

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

// A device that is revoked hears nothing more, also
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
