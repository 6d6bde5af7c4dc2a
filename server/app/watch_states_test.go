package app_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

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
