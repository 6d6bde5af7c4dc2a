package app_test

import (
	"slices"
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

func ref(scope changelog.Scope, kind changelog.Kind, id string, atLeast changelog.Seq) app.PointRef {
	return app.PointRef{Scope: scope, Key: changelog.Key{Kind: kind, ID: id}, Min: atLeast}
}

// found names what a point read found: scope, then "kind id".
func found(all []app.Found) [][]string {
	var out [][]string
	for _, f := range all {
		words := []string{f.Scope.String()}
		for _, e := range f.Put {
			words = append(words, kindWord(e.Kind)+" "+e.ID)
		}
		out = append(out, words)
	}
	return out
}

func TestPoint_ByScope(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.ask(held, "a", decision.WriteReversible)
	other := newForeign(h)
	of, account := changelog.ThreadScope(s.Thread), changelog.AccountScope
	got, err := h.app.Point(t.Context(), h.phone.Principal, []app.PointRef{
		ref(of, changelog.Decision, d.ID, 1), ref(account, changelog.ThreadHeader, s.Thread, 0),
		ref(changelog.ThreadScope(other), changelog.Item, "itm", 9), ref(changelog.ThreadScope("thr_x"), changelog.Item, "itm", 9),
		ref(account, changelog.DecisionHeader, d.ID, 0), ref(account, 200, d.ID, 0), ref(account, changelog.ThreadHeader, other, 0),
		ref(of, changelog.Decision, d.ID, 0),
	})
	check(t, err)
	want := [][]string{
		{of.String(), "decision " + d.ID}, {"account", "thread " + s.Thread, "decision " + d.ID},
		{"thread:" + other}, {"thread:thr_x"},
	}
	if diff := cmp.Diff(want, found(got)); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	// The stamps are those of a pull at the same time, and a scope of somebody
	// else is like one that never was.
	at := []app.At{h.cursor(of), h.cursor(account)}
	deltas, err := h.app.Pull(t.Context(), h.phone.Principal, app.Pull{At: at})
	check(t, err)
	for i := range at {
		if !slices.Equal(got[i].AsOf, deltas[i].AsOf) || got[i].Epoch != h.store.Epoch() {
			t.Errorf("scope %d is stamped otherwise than a pull", i)
		}
	}
	if got[2].AsOf != nil || got[3].AsOf != nil || got[2].Epoch != got[3].Epoch {
		t.Errorf("foreign %+v, unknown %+v", got[2], got[3])
	}
	_, err = h.app.Point(t.Context(), h.agent, nil)
	refused(t, "an agent", err, app.ErrWrongPrincipal)
}

// newForeign is a thread of another account.
func newForeign(h *harness) string {
	h.t.Helper()
	account := h.newAccount()
	id, err := store.NewID(store.KindThread, account, h.clock.Now(), zeros{})
	check(h.t, err)
	h.update(account, func(tx *store.Tx) error { return tx.PutThread(thread.State{ID: id, UpdateTime: tx.Now()}, true) })
	return id
}

// R26: a version that is still on its way is waited for, up to 2 s, and hears of
// its commit at once.
func TestPoint_WaitsForAVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		s, held := h.startTask("one")
		scope := changelog.ThreadScope(s.Thread)
		began := time.Now()
		got, err := h.app.Point(t.Context(), h.phone.Principal, []app.PointRef{ref(changelog.AccountScope, changelog.ThreadHeader, s.Thread, 999)})
		check(t, err)
		if took := time.Since(began); took != 2*time.Second || len(got[0].Put) != 1 {
			t.Errorf("took %v and found %v", took, found(got))
		}
		done := make(chan []app.Found)
		began = time.Now()
		go func() {
			got, err := h.app.Point(t.Context(), h.phone.Principal, []app.PointRef{ref(scope, changelog.Item, "itm", 1), ref(scope, changelog.Counters, "no", 0)})
			if err != nil {
				t.Error(err)
			}
			done <- got
		}()
		synctest.Wait()
		time.Sleep(time.Second)
		h.update(h.account, func(tx *store.Tx) error {
			tx.Touch("thread:" + s.Thread)
			return tx.PutItem(thread.Item{ID: "itm", Thread: s.Thread, Task: held.Task, Position: 1})
		})
		h.app.Hub().Wake("thread:" + s.Thread)
		got = <-done
		if took := time.Since(began); took != time.Second || len(got[0].Put) != 1 {
			t.Errorf("took %v and found %v", took, found(got))
		}
		// A scope that is nobody's is not waited for.
		began = time.Now()
		_, err = h.app.Point(t.Context(), h.phone.Principal, []app.PointRef{ref(changelog.ThreadScope(newForeign(h)), changelog.Item, "itm", 1)})
		check(t, err)
		if took := time.Since(began); took != 0 {
			t.Errorf("waited %v for what is somebody else's", took)
		}
	})
}
