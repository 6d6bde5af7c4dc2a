package store

import (
	"context"
	"strings"

	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/task"
)

// Task reads a task.
func (r *Read) Task(id string) (task.State, error) {
	return missing(getRow[task.State](r.r, tabTask, accountKey(r.account, id)))
}

// TasksOf lists the tasks of a thread, newest first, at most n.
func (r *Read) TasksOf(thread string, n int) ([]task.State, error) {
	var ids []string
	prefix := append(accountKey(r.account, thread), 0)
	err := r.r.ScanBack(tabTasksOf, prefix, after(prefix), func(k, _ []byte) bool {
		ids = append(ids, string(k[len(prefix):]))
		return len(ids) < n
	})
	if err != nil {
		return nil, err
	}
	tasks := make([]task.State, 0, len(ids))
	for _, id := range ids {
		s, err := r.Task(id)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, s)
	}
	return tasks, nil
}

// LiveTasks lists the tasks that have not ended, in the order of their ids.
// An empty agent means every agent's.
func (r *Read) LiveTasks(agent string) ([]task.State, error) {
	var out []task.State
	err := scanRows(r.r, tabTask, append([]byte(r.account), 0), func(_ []byte, s task.State) bool {
		if !s.Phase.Terminal() && (agent == "" || s.Agent == agent) {
			out = append(out, s)
		}
		return true
	})
	return out, err
}

// PutTask writes a task with everything that follows from it: when time alone
// moves it, whether a worker may claim it, and, if show is set, what lists see.
func (t *Tx) PutTask(s task.State, show bool) error {
	old, found, err := getRow[task.State](t.r, tabTask, accountKey(t.account, s.ID))
	if err != nil {
		return err
	}
	t.head.LiveTasks += live(s, true) - live(old, found)
	if err := t.setClaim(old, s); err != nil {
		return err
	}
	if err := putRow(t.w, tabTask, accountKey(t.account, s.ID), s); err != nil {
		return err
	}
	if err := t.w.Put(tabTasksOf, accountKey(t.account, s.Thread, s.ID), []byte{1}); err != nil {
		return err
	}
	t.Touch("task:" + s.ID)
	if err := t.setDue(DueLease, s.ID, s.Lease.Until); err != nil {
		return err
	}
	if err := t.setDue(DueDeadline, s.ID, s.NextDeadline()); err != nil {
		return err
	}
	if err := t.setDue(DueWait, s.ID, s.Wait.Until); err != nil {
		return err
	}
	if err := t.setDue(DueWorker, s.ID, s.NextLook()); err != nil {
		return err
	}
	if err := t.setDue(DueSilence, s.ID, s.NextSilence()); err != nil {
		return err
	}
	if err := t.setReady(s); err != nil {
		return err
	}
	if !show {
		return nil
	}
	return publishAs(t, changelog.AccountScope, entTaskHeader, s.ID, TaskHeaderOf(s))
}

func live(s task.State, found bool) int {
	if found && !s.Phase.Terminal() {
		return 1
	}
	return 0
}

// LiveTaskCount is the number of tasks that have not ended.
func (r *Read) LiveTaskCount() int { return r.head.LiveTasks }

// setClaim keeps the row by which a worker that did not hear the answer finds
// its claim again.
func (t *Tx) setClaim(old, s task.State) error {
	if old.Lease.ClaimID == s.Lease.ClaimID {
		return nil
	}
	if old.Lease.ClaimID != "" {
		if err := t.w.Delete(tabClaim, accountKey(s.Agent, old.Lease.ClaimID)); err != nil {
			return err
		}
	}
	if s.Lease.ClaimID == "" {
		return nil
	}
	return t.w.Put(tabClaim, accountKey(s.Agent, s.Lease.ClaimID), accountKey(t.account, s.ID))
}

// ClaimedAs finds the task that an agent's worker holds under a claim id.
func (s *Store) ClaimedAs(ctx context.Context, agent, claim string) (account, id string, found bool, err error) {
	err = s.engine.View(ctx, "", func(r Reader) error {
		b, err := r.Get(tabClaim, accountKey(agent, claim))
		if err != nil || b == nil {
			return err
		}
		account, id, found = strings.Cut(string(b), "\x00")
		return nil
	})
	return account, id, found, err
}

// TaskHeaderOf is what lists show of a task.
func TaskHeaderOf(s task.State) TaskHeader {
	h := TaskHeader{
		ID: s.ID, Thread: s.Thread, Agent: s.Agent, Title: s.Title,
		Phase: s.Phase, Hold: s.Hold.Kind, Progress: s.Progress,
		CreateTime: s.CreateTime, EndTime: s.EndTime, EndPosition: s.EndPosition, RetryTime: s.RetryTime(),
		WaitingSince: s.NoWorker.Since, WaitingFor: s.NoWorker.For,
	}
	if s.Result != nil {
		h.ResultSummary = s.Result.Summary
	}
	if s.Failure != nil {
		h.FailureCode = s.Failure.Code
	}
	return h
}

// Checkpoint reads a task's newest checkpoint; version 0 means there is none.
func (r *Read) Checkpoint(s task.State) (Checkpoint, error) {
	if s.Checkpoint == 0 {
		return Checkpoint{}, nil
	}
	return missing(getRow[Checkpoint](r.r, tabCheck, accountKey(r.account, s.ID, be(s.Checkpoint))))
}

// PutCheckpoint writes a version and forgets the one that is too old to keep.
func (t *Tx) PutCheckpoint(task string, c Checkpoint) error {
	if c.Version > CheckpointsKept {
		if err := deleteRow(t.w, tabCheck, accountKey(t.account, task, be(c.Version-CheckpointsKept))); err != nil {
			return err
		}
	}
	return putRow(t.w, tabCheck, accountKey(t.account, task, be(c.Version)), c)
}

// Signals reads what a task has not acknowledged, oldest first, at most n,
// above an id.
func (r *Read) Signals(id string, above uint64, n int) (signals []task.Signal, more bool, err error) {
	prefix := append(accountKey(r.account, id), 0)
	from := accountKey(r.account, id, be(above+1))
	err = scanRange(r.r.Scan, tabSignal, from, after(prefix), func(_ []byte, s task.Signal) bool {
		if len(signals) == n {
			more = true
			return false
		}
		signals = append(signals, s)
		return true
	})
	return signals, more, err
}

// PutSignal stores a signal under the id it carries.
func (t *Tx) PutSignal(id string, s task.Signal) error {
	t.Touch("task:" + id)
	return putRow(t.w, tabSignal, accountKey(t.account, id, be(s.ID)), s)
}

// DeleteSignal forgets an acknowledged signal and returns it.
func (t *Tx) DeleteSignal(id string, signal uint64) (task.Signal, bool, error) {
	key := accountKey(t.account, id, be(signal))
	s, found, err := getRow[task.Signal](t.r, tabSignal, key)
	if err != nil || !found {
		return s, false, err
	}
	return s, true, deleteRow(t.w, tabSignal, key)
}
