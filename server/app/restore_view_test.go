package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/replica"
)

// syncTables are what the account scope stands on.
var syncTables = [...]store.Table{"meta", "head", "scope", "install", "entity", "index"}

type stored struct {
	table      store.Table
	key, value []byte
}

func (h *harness) rows(r store.Reader) (rows []stored) {
	h.t.Helper()
	for _, table := range syncTables {
		check(h.t, r.Scan(table, nil, nil, func(k, v []byte) bool {
			rows = append(rows, stored{table, slices.Clone(k), slices.Clone(v)})
			return true
		}))
	}
	return rows
}

func (h *harness) backup() (rows []stored) {
	h.t.Helper()
	check(h.t, h.commits.View(h.t.Context(), "", func(r store.Reader) error {
		rows = h.rows(r)
		return nil
	}))
	return rows
}

// restore goes back to a backup, begins an epoch and starts a new process.
func (h *harness) restore(backup []stored, epoch changelog.Epoch) {
	h.t.Helper()
	check(h.t, h.commits.Update(h.t.Context(), "", func(w store.Writer) error {
		for _, row := range h.rows(w) {
			check(h.t, w.Delete(row.table, row.key))
		}
		for _, row := range backup {
			value := row.value
			if row.table == "meta" {
				// A repeated field grows by its encoding: number 2, length, bytes.
				value = append(append(slices.Clone(value), 2<<3|2, byte(len(epoch))), epoch[:]...)
			}
			check(h.t, w.Put(row.table, row.key, value))
		}
		return nil
	}))
	st, err := store.Open(h.t.Context(), h.commits, store.Config{Clock: h.clock.Now})
	check(h.t, err)
	if n := st.EpochNumber(); n < 2 {
		h.t.Fatalf("%d epochs after a restore", n)
	}
	h.store, h.config.Store = st, st
	h.restart()
}

// follower is a client of the account scope whose answers come late, out of
// order or not at all.
type follower struct {
	h      *harness
	view   *replica.View
	kept   replica.Snapshot
	flying []func()
}

func (f *follower) askPage(maxBytes int) {
	token, running := f.view.Bootstrap()
	if !running {
		return
	}
	p, err := f.h.app.Bootstrap(f.h.t.Context(), f.h.phone.Principal, app.Bootstrap{Page: token, MaxBytes: maxBytes})
	f.flying = append(f.flying, func() {
		if errors.Is(err, app.ErrPage) {
			f.view.ApplyReset(token)
			return
		}
		check(f.h.t, err)
		f.view.ApplyBootstrap(token, replica.BootstrapPage{
			Put: p.Put, Page: p.Page, Cursor: p.Cursor, Complete: p.Complete, AsOf: p.AsOf, Epoch: p.Epoch[:],
		})
	})
}

func (f *follower) askChanges(maxBytes int) (more bool) {
	cursor, horizon := f.view.At()
	if cursor == nil {
		return true
	}
	deltas, err := f.h.app.Pull(f.h.t.Context(), f.h.phone.Principal, app.Pull{At: []app.At{{Cursor: cursor, Horizon: horizon}}, MaxBytes: maxBytes})
	check(f.h.t, err)
	d := deltas[0]
	f.flying = append(f.flying, func() {
		if d.Reset != changelog.NoReset {
			f.view.ApplyReset(cursor)
			return
		}
		f.view.ApplyChanges(cursor, horizon, replica.ChangesPage{
			Put: d.Page.Put, Del: d.Page.Del, Next: d.Next, More: d.Page.More, AsOf: d.AsOf, Epoch: d.Page.AsOf.Epoch[:],
		})
	})
	return d.Reset != changelog.NoReset || d.Page.More
}

func (f *follower) deliver(i int) {
	a := f.flying[i]
	f.flying = slices.Delete(f.flying, i, i+1)
	a()
}

// settle reads without faults until nothing is left.
func (f *follower) settle() {
	f.flying = nil
	for range 200 {
		if _, running := f.view.Bootstrap(); running {
			f.askPage(1)
			f.deliver(0)
		} else {
			more := f.askChanges(1)
			if f.deliver(0); !more {
				return
			}
		}
	}
	f.h.t.Fatal("the view does not come to rest")
}

// R25 on the real store and verbs: entities that go and come back between
// pages, page tokens and cursors across restores, answers that come late.
func TestSync_ViewEqualsAFreshReadAfterRestores(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			followThroughRestores(t, rand.New(rand.NewPCG(seed, 25)))
		})
	}
}

func followThroughRestores(t *testing.T, rng *rand.Rand) {
	h := newHarness(t)
	devices := make([]device, 4)
	for i := range devices {
		devices[i] = h.newDevice(h.account, store.PlatformIOS)
	}
	f := &follower{h: h, view: replica.New()}
	f.kept = f.view.Snapshot()
	backup := h.backup()
	for step := range rng.IntN(500) {
		maxBytes := [...]int{1, 300, 0}[rng.IntN(3)]
		switch op := rng.IntN(40); {
		case op < 8:
			h.alterDevice(devices[rng.IntN(len(devices))], func(i *store.Installation) {
				i.Label, i.State = fmt.Sprint(step), store.InstallationActive
				if rng.IntN(3) == 0 {
					i.State = store.InstallationRevoked
				}
			})
		case op < 15:
			f.askPage(maxBytes)
		case op < 21:
			f.askChanges(maxBytes)
		case op < 33:
			if n := len(f.flying); n > 0 {
				f.deliver(rng.IntN(n))
			}
		case op == 33:
			h.update(h.account, func(tx *store.Tx) error {
				_, err := tx.PurgeTombstones(tx.Now().Add(time.Second), 1+rng.IntN(4))
				return err
			})
		case op < 36:
			backup = h.backup()
		case op < 38:
			h.restore(backup, changelog.Epoch{byte(rng.Uint32()), byte(step), byte(step >> 8), 1})
		case op < 39:
			f.kept = f.view.Snapshot()
		default:
			f.view = replica.Open(f.kept)
		}
	}
	f.settle()
	got := copyOf{}
	got.put(slices.Collect(f.view.All()))
	if diff := cmp.Diff(h.fresh(changelog.AccountScope), got); diff != "" {
		t.Errorf("the view differs from a fresh read (-fresh +view):\n%s", diff)
	}
}
