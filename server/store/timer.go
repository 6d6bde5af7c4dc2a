package store

import (
	"strings"
	"time"

	"github.com/beckon-dev/beckon/sync/task"
)

// TimerID names a timer among the due pointers.
func TimerID(task, key string) string { return task + "\x00" + key }

// TimerOf gives the task and the key that a due pointer of a timer names.
func (d Due) TimerOf() (task, key string) {
	task, key, _ = strings.Cut(d.ID, "\x00")
	return task, key
}

// Timer reads a timer of a task.
func (r *Read) Timer(id, key string) (task.Timer, error) {
	return missing(getRow[task.Timer](r.r, tabTimer, accountKey(r.account, id, key)))
}

// Timers lists the timers of a task by their keys.
func (r *Read) Timers(id string) ([]task.Timer, error) {
	var out []task.Timer
	err := scanRows(r.r, tabTimer, append(accountKey(r.account, id), 0), func(_ []byte, t task.Timer) bool {
		out = append(out, t)
		return true
	})
	return out, err
}

// PutTimer writes a timer and when it fires.
func (t *Tx) PutTimer(timer task.Timer) error {
	at := timer.At
	if timer.Fired() {
		at = time.Time{}
	}
	if err := t.setDue(DueTimer, TimerID(timer.Task, timer.Key), at); err != nil {
		return err
	}
	t.Touch("task:" + timer.Task)
	return putRow(t.w, tabTimer, accountKey(t.account, timer.Task, timer.Key), timer)
}

// DeleteTimer takes a timer away.
func (t *Tx) DeleteTimer(id, key string) error {
	if err := t.setDue(DueTimer, TimerID(id, key), time.Time{}); err != nil {
		return err
	}
	return deleteRow(t.w, tabTimer, accountKey(t.account, id, key))
}

// Repoint writes the pointers of a task and its timers anew, for one that lost
// them: what is there already stays where it is.
func (t *Tx) Repoint(s task.State) error {
	for _, kind := range []DueKind{DueLease, DueWait, DueDeadline, DueWorker, DueSilence} {
		if err := t.dropPointer(tabDue, accountKey(t.account, string(kind), s.ID), tabPointDue); err != nil {
			return err
		}
	}
	if err := t.dropPointer(tabReadyOf, accountKey(t.account, s.ID), Table(tabPointReady)); err != nil {
		return err
	}
	timers, err := t.Timers(s.ID)
	if err != nil {
		return err
	}
	for _, timer := range timers {
		if err := t.dropPointer(tabDue, accountKey(t.account, string(DueTimer), TimerID(s.ID, timer.Key)), tabPointDue); err != nil {
			return err
		}
		if err := t.PutTimer(timer); err != nil {
			return err
		}
	}
	return t.PutTask(s, false)
}

// dropPointer forgets a pointer that leads nowhere, so that it is set anew.
func (t *Tx) dropPointer(ownTable Table, own []byte, table Table) error {
	there, err := t.has(ownTable, own, table)
	if err != nil || there {
		return err
	}
	return t.w.Delete(ownTable, own)
}
