package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// SendMessage writes to a thread.
type SendMessage struct {
	Key    string
	Thread string
	Text   string
	// Draft is the text that it was made of, cleared with it; zero clears none.
	Draft draft.Base
}

// SendMessageResult tells where it went.
type SendMessageResult struct {
	Item thread.Item
	Task task.State
	AsOf []byte
}

// SendMessage goes to the thread's newest live task, or, where none lives, to
// a new task of the thread's agent. It closes no question; it lets the agent
// ask again what was denied. Errors: thread.ErrNoAgent (nothing is stored and
// the text stays with the caller), ErrKeyReused, *QuotaError,
// store.ErrNotFound.
func (a *App) SendMessage(ctx context.Context, p policy.Principal, c SendMessage) (SendMessageResult, error) {
	return commit(ctx, a, a.sending(p, c))
}

func (a *App) sending(p policy.Principal, c SendMessage) change[SendMessageResult] {
	account, err := ownAccount(p, store.KindThread, c.Thread)
	return change[SendMessageResult]{account: account, err: err, run: func(tx *store.Tx) (SendMessageResult, error) {
		return once(a, tx, p, "SendMessage", c.Key, c, func() (SendMessageResult, error) { return a.sendMessage(tx, p, c) })
	}}
}

func (a *App) sendMessage(tx *store.Tx, p policy.Principal, c SendMessage) (SendMessageResult, error) {
	th, err := tx.Thread(c.Thread)
	if err != nil {
		return SendMessageResult{}, err
	}
	link, err := tx.Link(th.Agent)
	usable := err == nil && !link.Revoked
	id, err := thread.Route(th, usable)
	if err != nil {
		return SendMessageResult{}, err
	}
	var s task.State
	if id == "" {
		s, err = a.followUp(tx, p, &th, c.Text)
	} else {
		s, err = tx.Task(id)
	}
	if err != nil {
		return SendMessageResult{}, err
	}
	it, err := a.appendItem(tx, &th, thread.Item{
		Task: s.ID, Role: thread.RolePerson, Kind: thread.Message, Parts: []thread.Part{{Text: c.Text}},
	})
	if err != nil {
		return SendMessageResult{}, err
	}
	if err := tx.PutThread(th, true); err != nil {
		return SendMessageResult{}, err
	}
	for _, l := range th.Live {
		if err := tx.ClearDenied(l.Task); err != nil {
			return SendMessageResult{}, err
		}
	}
	if id != "" {
		if s, err = a.signal(tx, s, task.Signal{Kind: task.Message, Item: it.ID, Text: c.Text}); err != nil {
			return SendMessageResult{}, err
		}
	}
	if err := consumeDraft(tx, c.Thread, c.Draft); err != nil {
		return SendMessageResult{}, err
	}
	result := SendMessageResult{Item: it, Task: s}
	result.AsOf, err = a.asOf(tx)
	return result, err
}

// followUp is the task that a message to a quiet thread starts. It asks for the
// same labels as the one before: work does not move to another environment by
// itself.
func (a *App) followUp(tx *store.Tx, p policy.Principal, th *thread.State, text string) (task.State, error) {
	last, err := tx.Task(th.LastTask)
	if err != nil {
		return last, err
	}
	return a.startTask(tx, th, task.State{
		Agent: th.Agent, Title: th.Title, Input: []byte(text), Labels: last.Labels,
	}, task.Lease{}, p.ID())
}
