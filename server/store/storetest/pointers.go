package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/task"
)

// pointerCases: the rows by which workers and timers find an account.
func pointerCases() map[string]func(*testing.T, *world) {
	return map[string]func(*testing.T, *world){
		"a due pointer moves":               dueMoves,
		"due is earliest first and bounded": dueOrder,
		"a decision is due at its end":      decisionDue,
		"a ready task keeps its place":      readyKeepsPlace,
		"ready tasks are of one agent":      readyOfAgent,
		"a claim is found by its id":        claimRows,
		"a commit names whom to wake":       commitNames,
		"live tasks are counted":            liveTasks,
	}
}

const theAgent = "agt_1"

func (w *world) at(d time.Duration) time.Time {
	return time.Date(2027, 3, 1, 9, 0, 0, 0, time.UTC).Add(d)
}

func (w *world) putTask(s task.State) store.Commit {
	w.t.Helper()
	if s.Agent == "" {
		s.Agent = theAgent
	}
	if s.Hold.Kind == 0 {
		s.Hold.Kind = task.HoldNone
	}
	if s.Thread == "" {
		s.Thread = theThread
	}
	return w.update(func(tx *store.Tx) error { return tx.PutTask(s, true) })
}

func (w *world) due(now time.Time, n int) []store.Due {
	w.t.Helper()
	out, err := w.store.TakeDue(context.Background(), now, n)
	if err != nil {
		w.t.Fatalf("due: %v", err)
	}
	return out
}

func dueMoves(t *testing.T, w *world) {
	s := task.State{ID: "tsk_1", Phase: task.Running, Lease: task.Lease{ID: "l", Until: w.at(time.Minute)}}
	w.putTask(s)
	row := store.Due{Kind: store.DueLease, Account: w.account, ID: "tsk_1", Time: w.at(time.Minute)}
	expect(t, "a microsecond early", w.due(w.at(time.Minute-time.Microsecond), 10), nil)
	expect(t, "on time", w.due(w.at(time.Minute), 10), []store.Due{row})
	expect(t, "still there until its cause is gone", w.due(w.at(time.Minute), 10), []store.Due{row})

	s.Lease.Until = w.at(2 * time.Minute)
	w.putTask(s)
	expect(t, "moved away", w.due(w.at(time.Minute), 10), nil)
	row.Time = w.at(2 * time.Minute)
	expect(t, "moved to", w.due(w.at(time.Hour), 10), []store.Due{row})

	s.Lease, s.Phase, s.Wait = task.Lease{}, task.Waiting, task.Wait{Until: w.at(3 * time.Minute)}
	w.putTask(s)
	row.Kind, row.Time = store.DueWait, w.at(3*time.Minute)
	expect(t, "another kind", w.due(w.at(time.Hour), 10), []store.Due{row})

	s.Phase, s.Wait = task.Completed, task.Wait{}
	w.putTask(s)
	expect(t, "taken away", w.due(w.at(time.Hour), 10), nil)
	if n := w.count("due"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func dueOrder(t *testing.T, w *world) {
	next := func() time.Time {
		at, err := w.store.NextDue(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	expect(t, "nothing is due", next(), time.Time{})
	other := w.apart(t)
	for i, minutes := range []int{5, 2, 9, 1} {
		at := w
		if i%2 == 1 {
			at = other
		}
		at.putTask(task.State{ID: fmt.Sprintf("tsk_%d", minutes), Phase: task.Waiting, Wait: task.Wait{Until: w.at(time.Duration(minutes) * time.Minute)}})
	}
	var ids []string
	for _, d := range w.due(w.at(8*time.Minute), 2) {
		ids = append(ids, d.ID)
	}
	expect(t, "two of them", ids, []string{"tsk_1", "tsk_2"})
	if n := len(w.due(w.at(8*time.Minute), 10)); n != 3 {
		t.Errorf("%d are due", n)
	}
	expect(t, "next", next(), w.at(time.Minute))
}

func decisionDue(t *testing.T, w *world) {
	s := decision.State{ID: "dec_1", Task: "tsk_1", Thread: theThread, Status: decision.Pending, ExpireTime: w.at(time.Hour)}
	put := func() { w.update(func(tx *store.Tx) error { return tx.PutDecision(s) }) }
	times := func() (out []time.Time) {
		for _, d := range w.due(w.at(100*time.Hour), 10) {
			out = append(out, d.Time)
		}
		return out
	}
	put()
	expect(t, "pending", times(), []time.Time{w.at(time.Hour)})
	s.Status, s.ExpireTime = decision.Resolved, w.at(time.Hour)
	s.Grants = []decision.Grant{
		{ID: "grt_1", State: decision.Armed, ExpireTime: w.at(24 * time.Hour)},
		{ID: "grt_2", State: decision.Armed, ExpireTime: w.at(5 * time.Hour)},
		{ID: "grt_3", State: decision.Void, ExpireTime: w.at(2 * time.Hour)},
	}
	put()
	expect(t, "the first armed grant", times(), []time.Time{w.at(5 * time.Hour)})
	s.Grants[0].State, s.Grants[1].State = decision.Consumed, decision.GrantExpired
	put()
	expect(t, "no grant is armed", times(), nil)
	s.Status, s.ExpireTime = decision.Pending, time.Time{}
	put()
	expect(t, "a question without end", times(), nil)
}

func (w *world) ready(agent string) (out []store.ReadyTask) {
	w.t.Helper()
	err := w.store.ReadyTasks(context.Background(), agent, func(r store.ReadyTask) bool {
		out = append(out, r)
		return true
	})
	if err != nil {
		w.t.Fatalf("ready: %v", err)
	}
	return out
}

func readyKeepsPlace(t *testing.T, w *world) {
	labels := map[string]string{"os": "linux", "gpu": ""}
	first, second := task.State{ID: "tsk_9", Phase: task.Ready, Labels: labels}, task.State{ID: "tsk_1", Phase: task.Ready}
	since := w.putTask(first).Time
	w.wall.advance(time.Second)
	since2 := w.putTask(second).Time
	w.wall.advance(time.Second)
	first.Title = "changed"
	if c := w.putTask(first); len(c.Ready) != 0 {
		t.Errorf("it became ready twice: %v", c.Ready)
	}
	row := store.ReadyTask{Agent: theAgent, Account: w.account, Task: "tsk_9", Labels: labels, Since: since}
	row2 := store.ReadyTask{Agent: theAgent, Account: w.account, Task: "tsk_1", Since: since2}
	expect(t, "longest waiting first", w.ready(theAgent), []store.ReadyTask{row, row2})

	first.Phase, first.Lease = task.Running, task.Lease{ID: "l", Until: w.at(time.Hour)}
	w.putTask(first)
	expect(t, "claimed", w.ready(theAgent), []store.ReadyTask{row2})
	first.Phase, first.Lease = task.Ready, task.Lease{}
	row.Since = w.putTask(first).Time
	expect(t, "back, and last", w.ready(theAgent), []store.ReadyTask{row2, row})

	second.Hold = task.Hold{Kind: task.HoldPause}
	w.putTask(second)
	expect(t, "held", w.ready(theAgent), []store.ReadyTask{row})
	stopped := 0
	if err := w.store.ReadyTasks(context.Background(), theAgent, func(store.ReadyTask) bool { stopped++; return false }); err != nil || stopped != 1 {
		t.Errorf("read %d after it was enough (%v)", stopped, err)
	}
}

func readyOfAgent(t *testing.T, w *world) {
	w.putTask(task.State{ID: "tsk_1", Agent: "agt_1", Phase: task.Ready})
	w.putTask(task.State{ID: "tsk_2", Agent: "agt_10", Phase: task.Ready})
	other := w.apart(t)
	other.putTask(task.State{ID: "tsk_3", Agent: "agt_1", Phase: task.Ready})
	got := map[string]string{}
	for _, r := range w.ready("agt_1") {
		got[r.Task] = r.Account
	}
	expect(t, "tasks", got, map[string]string{"tsk_1": w.account, "tsk_3": other.account})
}

func claimRows(t *testing.T, w *world) {
	claimed := func(agent, claim string) string {
		account, id, found, err := w.store.ClaimedAs(context.Background(), agent, claim)
		if err != nil {
			t.Fatal(err)
		}
		if found && account != w.account {
			t.Errorf("account %q", account)
		}
		return id
	}
	s := task.State{ID: "tsk_1", Phase: task.Running, Lease: task.Lease{ID: "l1", ClaimID: "one", Until: w.at(time.Hour)}}
	w.putTask(s)
	expect(t, "held", claimed(theAgent, "one"), "tsk_1")
	expect(t, "another agent", claimed("agt_2", "one"), "")
	s.Lease.Until = w.at(2 * time.Hour)
	w.putTask(s)
	expect(t, "extended", claimed(theAgent, "one"), "tsk_1")
	s.Lease = task.Lease{ID: "l2", ClaimID: "two", Until: w.at(time.Hour)}
	w.putTask(s)
	expect(t, "the former", claimed(theAgent, "one"), "")
	expect(t, "the next", claimed(theAgent, "two"), "tsk_1")
	s.Phase, s.Lease = task.Completed, task.Lease{}
	w.putTask(s)
	expect(t, "given back", claimed(theAgent, "two"), "")
}

func commitNames(t *testing.T, w *world) {
	c := w.update(func(tx *store.Tx) error {
		tx.Touch("task:tsk_1")
		s := task.State{ID: "tsk_1", Agent: theAgent, Thread: theThread, Phase: task.Ready, Hold: task.Hold{Kind: task.HoldNone}}
		if err := tx.PutTask(s, true); err != nil {
			return err
		}
		return tx.PutItem(item(1, "text"))
	})
	expect(t, "topics", c.Topics, []string{"task:tsk_1", "account:" + w.account, "thread:" + theThread})
	expect(t, "ready", c.Ready, []store.ReadyTask{{Agent: theAgent, Account: w.account, Task: "tsk_1", Since: c.Time}})
	if c.Due || c.Account != w.account {
		t.Errorf("commit: %+v", c)
	}
	if c := w.putTask(task.State{ID: "tsk_2", Phase: task.Waiting, Wait: task.Wait{Until: w.at(time.Hour)}}); !c.Due {
		t.Error("a pointer was written and nobody is told")
	}
}

func liveTasks(t *testing.T, w *world) {
	counted := func() (n int, ids []string) {
		w.view(func(r *store.Read) error {
			n = r.LiveTaskCount()
			live, err := r.LiveTasks("")
			for _, s := range live {
				ids = append(ids, s.ID)
			}
			return err
		})
		return n, ids
	}
	for i, p := range task.Phases {
		w.putTask(task.State{ID: fmt.Sprintf("tsk_%d", i), Phase: p})
	}
	want := []string{"tsk_0", "tsk_1", "tsk_2"}
	if n, ids := counted(); n != 3 || !cmp.Equal(ids, want) {
		t.Errorf("%d live: %v", n, ids)
	}
	w.putTask(task.State{ID: "tsk_1", Phase: task.Running})
	w.putTask(task.State{ID: "tsk_1", Phase: task.Failed})
	w.putTask(task.State{ID: "tsk_1", Phase: task.Failed})
	if n, ids := counted(); n != 2 || len(ids) != 2 {
		t.Errorf("%d live: %v", n, ids)
	}
	w.view(func(r *store.Read) error {
		tasks, err := r.TasksOf(theThread, 2)
		if len(tasks) != 2 || tasks[0].ID != "tsk_6" {
			t.Errorf("newest first: %v", tasks)
		}
		other, err1 := r.LiveTasks("agt_2")
		if len(other) != 0 || err1 != nil {
			t.Errorf("another agent's: %v, %v", other, err1)
		}
		return err
	})
}
