package storetest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/thread"
)

// countersCount holds R26: in every committed state, and inside a command.
func countersCount(t *testing.T, w *world) {
	rapid.Check(t, func(rt *rapid.T) {
		w := w.apart(rt)
		model := map[string]bool{}
		for range rapid.IntRange(1, 6).Draw(rt, "commands") {
			w.update(func(tx *store.Tx) error {
				for range rapid.IntRange(1, 5).Draw(rt, "writes") {
					if err := turnAttention(rt, tx, model); err != nil {
						return err
					}
					recount(rt, tx.Read, model)
				}
				return nil
			})
			w.view(func(r *store.Read) error { recount(rt, r, model); return nil })
			w.publishedCounters(rt, model)
		}
	})
}

// turnAttention makes a decision or a thread ask for attention or stop asking.
func turnAttention(rt *rapid.T, tx *store.Tx, model map[string]bool) error {
	in := rapid.Bool().Draw(rt, "in")
	n := rapid.IntRange(0, 3).Draw(rt, "which")
	if rapid.Bool().Draw(rt, "decision") {
		id := fmt.Sprintf("dec_%d", n)
		model[id] = in
		s := decision.State{ID: id, Task: "tsk_1", Thread: theThread, Status: decision.Pending}
		if !in {
			s.Status = rapid.SampledFrom([]decision.Status{decision.Resolved, decision.Expired, decision.Canceled, decision.Superseded, decision.Withdrawn}).Draw(rt, "status")
		}
		return tx.PutDecision(s)
	}
	id := fmt.Sprintf("thr_%d", n)
	model[id] = in
	s := thread.State{ID: id, NotableHead: 3, Read: thread.ReadMark{Position: 3}}
	if in {
		s.Read.Position = uint64(rapid.IntRange(0, 2).Draw(rt, "read"))
	}
	return tx.PutThread(s, rapid.Bool().Draw(rt, "show"))
}

func count(model map[string]bool) (c store.Counters) {
	for id, in := range model {
		switch {
		case in && id[:3] == "dec":
			c.OpenDecisions++
		case in:
			c.UnreadThreads++
		}
	}
	return c
}

func recount(rt *rapid.T, r *store.Read, model map[string]bool) {
	rt.Helper()
	rows, err := r.Attention()
	if err != nil {
		rt.Fatalf("attention: %v", err)
	}
	if want := count(model); r.Counters() != want || rows != want {
		rt.Fatalf("counters %+v, rows %+v, want %+v", r.Counters(), rows, want)
	}
}

// publishedCounters looks at the entity that clients get.
func (w *world) publishedCounters(rt *rapid.T, model map[string]bool) {
	rt.Helper()
	e, found := w.all(changelog.AccountScope)[changelog.Key{Kind: changelog.Counters, ID: "counters"}]
	if !found {
		if c := count(model); c.Badge() != 0 {
			rt.Fatalf("counters were never published: %+v", c)
		}
		return
	}
	got, err := store.DecodeEntity(changelog.Counters, e.Body)
	if err != nil || got != count(model) {
		rt.Fatalf("published %+v (%v), want %+v", got, err, count(model))
	}
}
