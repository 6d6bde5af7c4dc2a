package app_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/replica"
	"github.com/beckon-dev/beckon/sync/task"
)

const day = 24 * time.Hour

func (h *harness) forget() {
	h.t.Helper()
	check(h.t, h.app.Forget(h.t.Context()))
}

// A repeat within the time for repeats gets the first answer, whatever was
// deleted meanwhile; after it the record is gone.
func TestForget_RememberedResults(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	ids := map[string]string{}
	for i := range 600 { // more than one batch
		s := h.createTask(fmt.Sprint(i))
		ids[s.Title] = s.ID
		_, err := h.app.StopTask(t.Context(), h.phone.Principal, app.StopTask{Key: "stop", Task: s.ID})
		if i > 0 && err == nil {
			t.Fatal("the same key for another task")
		}
		_, err = h.app.StopTask(t.Context(), h.phone.Principal, app.StopTask{Key: "stop " + s.ID, Task: s.ID})
		check(t, err)
	}
	h.clock.Advance(30*day - time.Microsecond)
	h.forget()
	if s := h.createTask("7"); s.ID != ids["7"] {
		t.Error("a repeat made another task")
	}
	h.clock.Advance(time.Microsecond)
	h.forget()
	if s := h.createTask("7"); s.ID == ids["7"] {
		t.Error("a record is kept for ever")
	}
	before := h.commits.n.Load()
	h.forget()
	if n := h.commits.n.Load() - before; n != 0 {
		t.Errorf("with nothing to delete it made %d commits", n)
	}
}

// Rows of pushes go when nothing can come of them: an alert for what is still
// open has to be found again to be taken back.
func TestForget_Deliveries(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.newAddress(h.phone, "aa")
	_, held := h.startTask("one")
	open, answered := h.ask(held, "open", decision.WriteReversible), h.ask(held, "answered", decision.WriteReversible)
	h.deliver()
	h.answer(h.phone, answered, "approve")
	h.deliver()
	rows := func(about string) int {
		n := 0
		h.view(h.account, func(tx *store.Read) error {
			all, err := tx.DeliveriesAbout(about)
			n = len(all)
			return err
		})
		return n
	}
	had := rows(answered.ID)
	h.clock.Advance(30*day - time.Microsecond)
	h.forget()
	if had == 0 || rows(answered.ID) != had || rows(open.ID) != 1 {
		t.Fatalf("early: %d of %d, %d", rows(answered.ID), had, rows(open.ID))
	}
	h.clock.Advance(2 * time.Microsecond)
	h.forget()
	if rows(answered.ID) != 0 || rows(open.ID) != 1 {
		t.Errorf("kept %d of the answered, %d of the open", rows(answered.ID), rows(open.ID))
	}
	if got := h.decision(answered.ID); got.Status != decision.Resolved || got.Answer == nil {
		t.Errorf("the answer itself is %v", got.Status)
	}
	h.view(h.account, func(tx *store.Read) error {
		all, err := tx.Deliveries()
		for _, d := range all {
			if d.State == push.Pending && d.Subject.Decision == answered.ID {
				t.Errorf("left behind %+v", d)
			}
		}
		return err
	})
}

// What only a living task needs goes a week after its end, in commits of bounded
// size; what tells of the task stays.
func TestForget_Leftovers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dead, held := h.startTask("dead")
	alive, still := h.startTask("alive")
	for _, of := range []app.Held{held, still} {
		check(t, workVerbs["SaveCheckpoint"](h.app, h.agent, of))
		d := h.ask(of, "a", decision.WriteReversible)
		h.answer(h.phone, d, "deny")
		_, err := h.app.MintTaskToken(t.Context(), h.agent, of)
		check(t, err)
		h.update(h.account, func(tx *store.Tx) error {
			for i := range 300 {
				if err := tx.PutSignal(of.Task, task.Signal{ID: uint64(1000 + i), Kind: task.Message}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	check(t, workVerbs["FailTask"](h.app, h.agent, held))
	_, err := h.app.ReleaseTask(t.Context(), h.agent, still)
	check(t, err)
	has := func(id string) bool {
		var found bool
		h.view(h.account, func(tx *store.Read) (err error) {
			found, err = tx.HasLeftovers(id)
			return err
		})
		return found
	}
	h.clock.Advance(7*day - time.Microsecond)
	h.forget()
	if !has(dead.ID) {
		t.Fatal("early")
	}
	h.clock.Advance(time.Microsecond)
	before := h.commits.n.Load()
	h.forget()
	if has(dead.ID) || !has(alive.ID) {
		t.Errorf("the ended task has leftovers: %v, the living one: %v", has(dead.ID), has(alive.ID))
	}
	if n := h.commits.n.Load() - before; n < 2 {
		t.Errorf("more than one batch in %d commits", n)
	}
	if got := h.task(dead.ID); got.Phase != task.Failed {
		t.Errorf("the task is %v", got.Phase)
	}
	if c := h.claim("again"); len(c.Signals) != 256 || !c.More {
		t.Errorf("the living task lost signals: %d", len(c.Signals))
	}
}

// R25: a tombstone goes after a month. A client that saw it goes on without a
// reset; one that did not starts again and converges on the same.
func TestForget_Tombstones(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	tablet := h.newDevice(h.account, store.PlatformIOS)
	follow := func() *follower {
		f := &follower{h: h, view: replica.New()}
		f.settle()
		return f
	}
	old := follow()
	h.alterDevice(tablet, func(i *store.Installation) { i.State = store.InstallationRevoked })
	young := follow()
	h.createTask("later")
	h.clock.Advance(30*day - time.Microsecond)
	h.forget()
	if reset := h.wouldReset(old.view); reset != changelog.NoReset {
		t.Fatalf("early: %v", reset)
	}
	h.clock.Advance(2 * time.Microsecond)
	h.forget()
	if reset := h.wouldReset(young.view); reset != changelog.NoReset {
		t.Errorf("a client that saw the tombstone is reset: %v", reset)
	}
	if reset := h.wouldReset(old.view); reset != changelog.TooOld {
		t.Errorf("a client that did not see it meets %v", reset)
	}
	for name, f := range map[string]*follower{"old": old, "young": young} {
		f.settle()
		got := copyOf{}
		got.put(slices.Collect(f.view.All()))
		if diff := cmp.Diff(h.fresh(changelog.AccountScope), got); diff != "" {
			t.Errorf("the %s view differs from a fresh read (-fresh +view):\n%s", name, diff)
		}
	}
}

// wouldReset is how a pull at the cursor of a view is met.
func (h *harness) wouldReset(v *replica.View) changelog.Reset {
	h.t.Helper()
	cursor, horizon := v.At()
	deltas, err := h.app.Pull(h.t.Context(), h.phone.Principal, app.Pull{At: []app.At{{Cursor: cursor, Horizon: horizon}}})
	check(h.t, err)
	return deltas[0].Reset
}

// A run that is cut short has deleted whole batches, and the next one goes on.
func TestForget_CutShort(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	check(t, workVerbs["SaveCheckpoint"](h.app, h.agent, held))
	_, err := h.app.MintTaskToken(t.Context(), h.agent, held)
	check(t, err)
	check(t, workVerbs["FailTask"](h.app, h.agent, held))
	h.clock.Advance(8 * day)
	h.update(h.account, func(tx *store.Tx) error {
		n, err := tx.DropLeftovers(s.ID, 1)
		if n != 1 {
			t.Errorf("dropped %d rows of one", n)
		}
		return err
	})
	h.commits.failViews.Store(1)
	if err := h.app.Forget(t.Context()); !errors.Is(err, errRead) {
		t.Fatalf("met %v", err)
	}
	h.restart()
	h.forget()
	h.view(h.account, func(tx *store.Read) error {
		if has, err := tx.HasLeftovers(s.ID); has || err != nil {
			t.Errorf("left behind %v, %v", has, err)
		}
		return nil
	})
}
