package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// recordCases: what is kept, for how long, and what a restart finds.
func recordCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a remembered result ends":              onceEnds,
		"three checkpoints are kept":            checkpoints,
		"signals are read in order":             signals,
		"decisions of a task":                   decisionsOf,
		"a denied digest is denied in its task": denied,
		"audit entries form a chain":            auditChain,
		"records that are not there":            notThere,
		"a restart finds the same":              restart,
	}
}

func onceEnds(t *testing.T, w *world) {
	row := store.Idempotent{BodyHash: []byte("hash"), Result: []byte("result"), ExpireTime: w.at(time.Hour)}
	w.update(func(tx *store.Tx) error { return tx.PutOnce("agt_1", "Create", "key", row) })
	read := func(principal, method, key string) (got store.Idempotent, found bool) {
		w.view(func(r *store.Read) (err error) {
			got, found, err = r.Once(principal, method, key)
			return err
		})
		return got, found
	}
	got, found := read("agt_1", "Create", "key")
	if !found || !cmp.Equal(got, row) {
		t.Errorf("read %v, %+v", found, got)
	}
	for _, other := range [][3]string{{"agt_2", "Create", "key"}, {"agt_1", "Cancel", "key"}, {"agt_1", "Create", "key2"}} {
		if _, found := read(other[0], other[1], other[2]); found {
			t.Errorf("%v is remembered", other)
		}
	}
	w.wall.advance(w.at(time.Hour).Sub(w.wall.Now()) - time.Microsecond)
	if _, found := read("agt_1", "Create", "key"); !found {
		t.Error("forgotten early")
	}
	w.wall.advance(time.Microsecond)
	if got, found := read("agt_1", "Create", "key"); found || got.Result != nil {
		t.Error("remembered too long")
	}
}

func checkpoints(t *testing.T, w *world) {
	for v := uint64(1); v <= 5; v++ {
		w.update(func(tx *store.Tx) error {
			return tx.PutCheckpoint("tsk_1", store.Checkpoint{Version: v, Data: bytes.Repeat([]byte{byte(v)}, 1<<20), CreateTime: w.at(time.Minute)})
		})
	}
	if n := w.count("check"); n != store.CheckpointsKept {
		t.Errorf("%d are kept", n)
	}
	w.view(func(r *store.Read) error {
		newest, err := r.Checkpoint(task.State{ID: "tsk_1", Checkpoint: 5})
		if newest.Version != 5 || len(newest.Data) != 1<<20 || newest.Data[0] != 5 {
			t.Errorf("version %d with %d bytes", newest.Version, len(newest.Data))
		}
		_, gone := r.Checkpoint(task.State{ID: "tsk_1", Checkpoint: 2})
		if !errors.Is(gone, store.ErrNotFound) {
			t.Errorf("version 2: %v", gone)
		}
		none, err1 := r.Checkpoint(task.State{ID: "tsk_1"})
		return errors.Join(err, err1, same("no checkpoint", none, store.Checkpoint{}))
	})
}

func same[T any](what string, got, want T) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(what + ": " + diff)
	}
	return nil
}

func signals(t *testing.T, w *world) {
	// 256 and above have zero bytes inside their key.
	numbers := []uint64{300, 1, 256, 255, 2}
	w.update(func(tx *store.Tx) error {
		for _, n := range numbers {
			if err := tx.PutSignal("tsk_1", task.Signal{ID: n, Kind: task.Message, Time: w.at(0)}); err != nil {
				return err
			}
		}
		return tx.PutSignal("tsk_10", task.Signal{ID: 7, Kind: task.Message})
	})
	read := func(above uint64, n int) (out []uint64, more bool) {
		w.view(func(r *store.Read) error {
			list, rest, err := r.Signals("tsk_1", above, n)
			for _, s := range list {
				out = append(out, s.ID)
			}
			more = rest
			return err
		})
		return out, more
	}
	got, more := read(0, 3)
	expect(t, "first", got, []uint64{1, 2, 255})
	expect(t, "more", more, true)
	got, more = read(255, 2)
	expect(t, "rest", got, []uint64{256, 300})
	expect(t, "no more", more, false)
	w.update(func(tx *store.Tx) error {
		s, found, err := tx.DeleteSignal("tsk_1", 256)
		if !found || s.ID != 256 {
			t.Errorf("acknowledged %v %+v", found, s)
		}
		_, again, err1 := tx.DeleteSignal("tsk_1", 256)
		if again {
			t.Error("acknowledged twice")
		}
		return errors.Join(err, err1)
	})
	got, _ = read(2, 10)
	expect(t, "left", got, []uint64{255, 300})
}

func decisionsOf(_ *testing.T, w *world) {
	w.update(func(tx *store.Tx) error {
		for id, status := range map[string]decision.Status{"dec_1": decision.Pending, "dec_2": decision.Resolved, "dec_3": decision.Pending} {
			if err := tx.PutDecision(decision.State{ID: id, Task: "tsk_1", Thread: theThread, Status: status}); err != nil {
				return err
			}
		}
		return tx.PutDecision(decision.State{ID: "dec_4", Task: "tsk_10", Thread: theThread, Status: decision.Pending})
	})
	w.view(func(r *store.Read) error {
		name := func(list []decision.State) (out []string) {
			for _, d := range list {
				out = append(out, d.ID)
			}
			return out
		}
		all, err := r.DecisionsOf("tsk_1", 2)
		open, err1 := r.OpenDecisions("tsk_1")
		return errors.Join(err, err1,
			same("newest", name(all), []string{"dec_3", "dec_2"}),
			same("open", name(open), []string{"dec_3", "dec_1"}))
	})
}

func denied(t *testing.T, w *world) {
	digest := decision.Digest{0, 1, 0xff}
	ask := func(task string, d decision.Digest) (got bool) {
		w.view(func(r *store.Read) (err error) {
			got, err = r.Denied(task, d)
			return err
		})
		return got
	}
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.PutDenied("tsk_1", digest), tx.PutDenied("tsk_1", decision.Digest{9}), tx.PutDenied("tsk_10", digest))
	})
	expect(t, "denied", []bool{ask("tsk_1", digest), ask("tsk_1", decision.Digest{}), ask("tsk_2", digest)}, []bool{true, false, false})
	w.update(func(tx *store.Tx) error { return tx.ClearDenied("tsk_1") })
	expect(t, "cleared", []bool{ask("tsk_1", digest), ask("tsk_1", decision.Digest{9}), ask("tsk_10", digest)}, []bool{false, false, true})
}

// auditChain verifies the chain as somebody without our code would: by the
// bytes alone.
func auditChain(t *testing.T, w *world) {
	for range 3 {
		w.wall.advance(time.Second)
		w.update(func(tx *store.Tx) error {
			return errors.Join(tx.Audit("ins_1", "answer", "dec_1", "APPLIED"), tx.Audit("ins_1", "revoke", "agt_1", "done"))
		})
	}
	w.view(func(r *store.Read) error {
		entries, raw, err := r.AuditEntries(1, 100)
		if err != nil {
			return err
		}
		var prev []byte
		for i, e := range entries {
			if e.Seq != uint64(i+1) || !bytes.Equal(e.Prev, prev) {
				t.Errorf("entry %d is %d after %x", i+1, e.Seq, e.Prev)
			}
			sum := sha256.Sum256(raw[i])
			prev = sum[:]
		}
		seq, hash := r.AuditHead()
		part, _, err := r.AuditEntries(5, 1)
		if seq != 6 || len(entries) != 6 || !bytes.Equal(hash, prev) || len(part) != 1 || part[0].Seq != 5 {
			t.Errorf("head %d %x, %d entries, part %v", seq, hash, len(entries), part)
		}
		return err
	})
}

func notThere(t *testing.T, w *world) {
	w.view(func(r *store.Read) error {
		_, err1 := r.Task("tsk_1")
		_, err2 := r.Thread("thr_1")
		_, err3 := r.Decision("dec_1")
		_, err4 := r.Installation("ins_1")
		_, err5 := r.Agent("agt_1")
		_, err6 := r.Link("agt_1")
		_, err7 := r.Offer("off_1")
		_, err8 := r.Unlock("ins_1")
		_, err9 := r.Family("ins_1")
		_, err10 := r.Delivery("dlv_1")
		_, err11 := r.AccountRow()
		_, err12 := r.CredentialRow("x")
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11, err12} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("record %d: %v", i+1, err)
			}
		}
		s, err := r.Settings()
		if s.Level != store.LevelIDs {
			t.Errorf("settings without a choice: %+v", s)
		}
		return err
	})
	if _, err := w.store.Credential(context.Background(), "x"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("credential: %v", err)
	}
}

// restart opens the same engine again, and where there is a medium, closes it
// in between.
func restart(t *testing.T, w *world) {
	server := w.store.ServerID()
	key := store.AgentKey{ID: "key", Agent: theAgent, Hash: []byte("hash"), ExpireTime: w.at(time.Hour)}
	w.update(func(tx *store.Tx) error {
		return errors.Join(tx.PutKey(key), tx.PutSettings(store.Settings{Level: store.LevelTitle}))
	})
	if w.h.Reopen != nil {
		w.engine = w.h.Reopen(t, w.engine)
	}
	w.open()
	expect(t, "server", w.store.ServerID(), server)
	found, err := w.store.Credential(context.Background(), "key")
	if err != nil || found.Account != w.account || found.Agent != theAgent || !bytes.Equal(found.Hash, key.Hash) {
		t.Errorf("credential %+v, %v", found, err)
	}
	w.view(func(r *store.Read) error {
		s, err := r.Settings()
		expect(t, "settings", s, store.Settings{Level: store.LevelTitle})
		keys, err1 := r.Keys(theAgent)
		expect(t, "keys", keys, []store.AgentKey{key})
		return errors.Join(err, err1)
	})
}
