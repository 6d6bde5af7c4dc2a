package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// changeCases: what a change of an entity does to versions, index and counters.
func changeCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a body changes exactly when its version does": bodyIsVersion,
		"the same bytes again are no change":           sameIsNothing,
		"what is gone leaves a tombstone":              tombstone,
		"edits keep one index row an entity":           oneIndexRow,
		"counters equal what they count":               countersCount,
		"each scope notes a base at its first write":   basesPerEpoch,
		"time never goes back":                         timeGoesOn,
		"a failing command changes nothing":            failureChangesNothing,
		"as of names the head of the commit":           asOfIsHead,
	}
}

const theThread = "thr_1"

// item is an entity of the thread scope with a body of about size bytes.
func item(n int, text string) thread.Item {
	return thread.Item{
		ID: fmt.Sprintf("itm_%06d", n), Thread: theThread, Position: uint64(n + 1),
		Role: thread.RoleAgent, Kind: thread.Message, Parts: []thread.Part{{Text: text}},
	}
}

// all reads a scope from the start, page by page.
func (w *world) all(scope changelog.Scope) map[changelog.Key]changelog.Entity {
	w.t.Helper()
	got := map[changelog.Key]changelog.Entity{}
	w.walk(scope, 0, store.PageBytes, func(p changelog.Page) {
		for _, e := range p.Put {
			got[e.Key] = e
		}
	})
	return got
}

func (w *world) head(scope changelog.Scope) changelog.Seq {
	w.t.Helper()
	var seq changelog.Seq
	w.view(func(r *store.Read) error {
		p, err := r.AsOf(scope)
		seq = p.Seq
		return err
	})
	return seq
}

// bodyIsVersion compares with a model in which each write of other bytes, and
// nothing else, takes the next version.
func bodyIsVersion(t *testing.T, w *world) {
	rapid.Check(t, func(rt *rapid.T) {
		w := w.apart(rt)
		texts, versions, head := map[string]string{}, map[string]changelog.Seq{}, changelog.Seq(0)
		for range rapid.IntRange(1, 8).Draw(rt, "commands") {
			var items []thread.Item
			for range rapid.IntRange(1, 4).Draw(rt, "writes") {
				items = append(items, item(rapid.IntRange(0, 3).Draw(rt, "item"), rapid.StringN(0, 1, -1).Draw(rt, "text")))
			}
			w.update(func(tx *store.Tx) error { return putItems(tx, items) })
			for _, it := range items {
				if old, had := texts[it.ID]; !had || old != it.Text() {
					head++
					texts[it.ID], versions[it.ID] = it.Text(), head
				}
			}
			got := map[string]changelog.Seq{}
			for key, e := range w.all(changelog.ThreadScope(theThread)) {
				got[key.ID] = e.Version
			}
			if diff := cmp.Diff(versions, got); diff != "" {
				rt.Fatalf("versions:\n%s", diff)
			}
		}
	})
}

func putItems(tx *store.Tx, items []thread.Item) error {
	for _, it := range items {
		if err := tx.PutItem(it); err != nil {
			return err
		}
	}
	return nil
}

func sameIsNothing(t *testing.T, w *world) {
	put := func(tx *store.Tx) error {
		return errors.Join(
			tx.PutItem(item(1, "hello")),
			tx.PutSettings(store.Settings{Level: store.LevelFull}),
			tx.PutDecision(decision.State{ID: "dec_1", Task: "tsk_1", Thread: theThread, Status: decision.Pending}),
			tx.PutThread(thread.State{ID: theThread, NotableHead: 1}, true),
			tx.PutLink(store.AgentLink{Agent: "agt_1", Scopes: []store.AgentScope{store.ScopeReadOwn}}),
			tx.PutInstallation(store.Installation{ID: "ins_1", State: store.InstallationActive}),
		)
	}
	w.update(put)
	account, inThread := w.all(changelog.AccountScope), w.all(changelog.ThreadScope(theThread))
	if len(account) != 6 || len(inThread) != 2 { // with the counters
		t.Fatalf("%d and %d entities", len(account), len(inThread))
	}
	w.wall.advance(time.Second)
	w.update(put)
	if diff := cmp.Diff(account, w.all(changelog.AccountScope)); diff != "" {
		t.Errorf("account changed:\n%s", diff)
	}
	if diff := cmp.Diff(inThread, w.all(changelog.ThreadScope(theThread))); diff != "" {
		t.Errorf("thread changed:\n%s", diff)
	}
	for key, e := range account {
		if _, err := store.DecodeEntity(key.Kind, e.Body); err != nil {
			t.Errorf("%v: %v", key, err)
		}
	}
}

func tombstone(t *testing.T, w *world) {
	device := store.Installation{ID: "ins_1", State: store.InstallationRevoked}
	put := func(tx *store.Tx) error { return tx.PutInstallation(device) }
	w.update(put)
	if head := w.head(changelog.AccountScope); head != 0 {
		t.Errorf("what was never there was taken away: head %d", head)
	}
	device.State = store.InstallationActive
	w.update(put)
	device.State = store.InstallationRevoked
	w.update(put)
	w.update(put)
	var page changelog.Page
	w.view(func(r *store.Read) (err error) {
		page, err = r.Changes(changelog.AccountScope, 0, store.PageBytes)
		return err
	})
	want := []changelog.Tombstone{{Key: changelog.Key{Kind: changelog.Installation, ID: "ins_1"}, Version: 2}}
	if diff := cmp.Diff(want, page.Del); diff != "" || len(page.Put) != 0 {
		t.Errorf("put %v, gone:\n%s", page.Put, diff)
	}
	if n := w.count("index"); n != 1 {
		t.Errorf("%d index rows", n)
	}
	w.view(func(r *store.Read) error {
		put, more, err := r.Entities(changelog.AccountScope, changelog.Key{}, store.PageBytes)
		if len(put) != 0 || more {
			t.Errorf("a dead entity is listed: %v", put)
		}
		return err
	})
}

// oneIndexRow: catching up costs what changed, not how often (R24).
func oneIndexRow(t *testing.T, w *world) {
	const entities, commands, edits = 100, 200, 500
	last := map[string]string{}
	n := 0
	for range commands {
		w.update(func(tx *store.Tx) error {
			for range edits {
				n++
				it := item(n*7%entities, fmt.Sprintf("edit %d", n))
				last[it.ID] = it.Text()
				if err := tx.PutItem(it); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if rows := w.count("index"); rows != entities {
		t.Errorf("%d index rows for %d entities", rows, entities)
	}
	if head := w.head(changelog.ThreadScope(theThread)); head != commands*edits {
		t.Errorf("head %d after %d edits", head, commands*edits)
	}
	got := map[string]string{}
	for key, e := range w.all(changelog.ThreadScope(theThread)) {
		v, err := store.DecodeEntity(key.Kind, e.Body)
		if err != nil {
			t.Fatal(err)
		}
		got[key.ID] = v.(thread.Item).Text()
	}
	if diff := cmp.Diff(last, got); diff != "" {
		t.Error(diff)
	}
}

// basesPerEpoch: a scope notes where it stood when an epoch first wrote to it,
// and only then (R25).
func basesPerEpoch(t *testing.T, w *world) {
	write := func(id, text string) {
		it := item(1, text)
		it.Thread = id
		w.update(func(tx *store.Tx) error { return tx.PutItem(it) })
	}
	bases := func(id string) []changelog.Base {
		var h changelog.History
		w.view(func(r *store.Read) (err error) {
			h, err = r.History(changelog.ThreadScope(id))
			return err
		})
		return h.Bases
	}
	write("thr_a", "1")
	write("thr_a", "2")
	write("thr_b", "1")
	w.restore(store.NewEpoch{})
	expect(t, "after the restore", bases("thr_a"), []changelog.Base{{Epoch: 0, Head: 0}})
	write("thr_a", "3")
	write("thr_a", "4")
	w.restore(store.NewEpoch{Above: 9, CopyTime: w.wall.Now().UTC().Truncate(time.Second)})
	write("thr_a", "5")
	write("thr_b", "1") // the same bytes: no write
	expect(t, "written in each", bases("thr_a"), []changelog.Base{{Epoch: 0, Head: 0}, {Epoch: 1, Head: 2}, {Epoch: 2, Head: 4}})
	expect(t, "not written since", bases("thr_b"), []changelog.Base{{Epoch: 0, Head: 0}})
	write("thr_b", "2")
	expect(t, "an epoch left out", bases("thr_b"), []changelog.Base{{Epoch: 0, Head: 0}, {Epoch: 2, Head: 1}})
	expect(t, "never written", bases("thr_c"), nil)
	// Cut off, no older epoch counts any more; and the account, which was alive,
	// is to draw its consequences once.
	w.restore(store.NewEpoch{CutOff: true})
	w.view(func(r *store.Read) error {
		h, err := r.History(changelog.ThreadScope("thr_a"))
		if h.Oldest != 3 || !r.Unsettled() {
			t.Errorf("cut off: oldest %d, unsettled %v", h.Oldest, r.Unsettled())
		}
		return err
	})
	w.update(func(tx *store.Tx) error { tx.Settle(); return nil })
	w.view(func(r *store.Read) error {
		if r.Unsettled() {
			t.Error("settled, and unsettled again")
		}
		return nil
	})
	fresh := w.apart(t)
	fresh.update(func(tx *store.Tx) error { return tx.PutSettings(store.Settings{Level: store.LevelIDs}) })
	fresh.view(func(r *store.Read) error {
		if r.Unsettled() {
			t.Error("an account of this epoch is to be settled")
		}
		return nil
	})
}

func expect[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: want (-), got (+):\n%s", what, diff)
	}
}

func timeGoesOn(t *testing.T, w *world) {
	nothing := func(*store.Tx) error { return nil }
	first := w.update(nothing).Time
	if want := w.wall.Now().Truncate(time.Microsecond); !first.Equal(want) || first.Location() != time.UTC {
		t.Errorf("time %v, want %v", first, want)
	}
	w.wall.advance(-time.Hour)
	if got := w.update(nothing).Time; !got.Equal(first) {
		t.Errorf("the clock went back: %v, then %v", first, got)
	}
	w.view(func(r *store.Read) error {
		if !r.Now().Equal(first) {
			t.Errorf("a view is at %v, the last commit at %v", r.Now(), first)
		}
		return nil
	})
	if got := w.apart(t).update(nothing).Time; !got.Before(first) {
		t.Errorf("another account is held by this one's time: %v", got)
	}
	w.wall.advance(2 * time.Hour)
	if got := w.update(nothing).Time; !got.After(first) {
		t.Errorf("time stands still at %v", got)
	}
}

func failureChangesNothing(t *testing.T, w *world) {
	w.update(func(tx *store.Tx) error { return tx.PutThread(thread.State{ID: theThread, NotableHead: 1}, true) })
	before, time0 := w.all(changelog.AccountScope), w.wall.Now()
	w.wall.advance(time.Hour)
	refused := errors.New("refused")
	_, err := w.store.Update(context.Background(), w.account, func(tx *store.Tx) error {
		return errors.Join(
			tx.PutThread(thread.State{ID: theThread, NotableHead: 2, Read: thread.ReadMark{Position: 2}}, true),
			tx.Audit("somebody", "kind", "subject", "outcome"), refused)
	})
	if !errors.Is(err, refused) {
		t.Fatalf("error %v", err)
	}
	expect(t, "entities", w.all(changelog.AccountScope), before)
	w.wall.advance(-time.Hour)
	w.view(func(r *store.Read) error {
		if seq, _ := r.AuditHead(); seq != 0 || !r.Now().Equal(time0.Truncate(time.Microsecond)) {
			t.Errorf("audit %d, time %v", seq, r.Now())
		}
		return nil
	})
}

// asOfIsHead: what a verb answers as its place is where the commit ends up,
// though counters are published last.
func asOfIsHead(t *testing.T, w *world) {
	var said changelog.Position
	w.update(func(tx *store.Tx) error {
		if err := tx.PutThread(thread.State{ID: theThread, NotableHead: 1}, true); err != nil {
			return err
		}
		var err error
		said, err = tx.AsOf(changelog.AccountScope)
		return err
	})
	if head := w.head(changelog.AccountScope); said.Seq != head || head != 2 {
		t.Errorf("said %d, is %d", said.Seq, head)
	}
}
