package app

import (
	"fmt"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// speak notes that the holder of a lease has said something. Anybody else is
// refused by what it came to say.
func speak(tx *store.Tx, s task.State, lease string) (task.State, error) {
	events, err := task.Decide(s, task.Speak{Lease: lease}, tx.Now())
	if err != nil || len(events) == 0 {
		return s, nil //nolint:nilerr // see above
	}
	s = task.ApplyAll(s, events, tx.Now())
	return s, tx.PutTask(s, false)
}

// listen looks whether a worker that holds a task has said something: it is
// reminded first, and then the timeline tells of it. Nobody is called.
func (a *App) listen(tx *store.Tx, id string) error {
	s, err := tx.Task(id)
	if err != nil {
		return err
	}
	events, err := task.Decide(s, task.Listen{Started: a.started.UTC()}, tx.Now())
	if err != nil {
		return err
	}
	was := s.Hush
	s = task.ApplyAll(s, events, tx.Now())
	if err := tx.PutTask(s, false); err != nil || s.Hush == was {
		return err
	}
	if s.Hush == task.HushReminded {
		_, err = a.signal(tx, s, task.Signal{Kind: task.Silence})
		return err
	}
	th, err := tx.Thread(s.Thread)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("It is worked on, and has said nothing since %s.", s.SpokeTime.UTC().Format("2006-01-02 15:04 UTC"))
	it := thread.Item{Task: s.ID, Role: thread.RoleServer, Kind: thread.Notice, Notable: true, Parts: []thread.Part{{Text: text}}}
	if _, err := a.appendItem(tx, &th, it); err != nil {
		return err
	}
	return tx.PutThread(th, true)
}
