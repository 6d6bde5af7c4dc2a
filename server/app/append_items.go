package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// ItemDraft is an item to append, under the agent's own name for it.
type ItemDraft struct {
	ClientID string
	Role     thread.Role
	Kind     thread.ItemKind
	Parts    []thread.Part
	Notable  bool
}

// AppendItems adds to the thread of a task.
type AppendItems struct {
	Held
	Items []ItemDraft
}

// AppendItems stores a batch in one commit. An item whose name is known in the
// task is not stored again, so a batch may be sent twice. It pushes nothing.
// Errors: task.ErrLeaseLost, store.ErrNotFound.
func (a *App) AppendItems(ctx context.Context, p policy.Principal, c AppendItems) ([]string, error) {
	var ids []string
	err := a.work(ctx, p, c.Held, func(tx *store.Tx, s task.State, lease string) error {
		if s.Phase != task.Running || s.Lease.ID != lease {
			return task.ErrLeaseLost
		}
		th, err := tx.Thread(s.Thread)
		if err != nil {
			return err
		}
		ids = make([]string, len(c.Items))
		worth := false
		for i, draft := range c.Items {
			it, err := a.appendDraft(tx, &th, s, draft)
			if err != nil {
				return err
			}
			ids[i], worth = it.ID, worth || it.Notable
		}
		return tx.PutThread(th, thread.ShowHead(th, worth, tx.Now()))
	})
	return ids, err
}

func (a *App) appendDraft(tx *store.Tx, th *thread.State, s task.State, draft ItemDraft) (thread.Item, error) {
	id, found, err := tx.ItemOf(s.ID, draft.ClientID)
	if err != nil || found {
		return thread.Item{ID: id}, err
	}
	it, err := a.appendItem(tx, th, thread.Item{
		Task: s.ID, Role: draft.Role, Kind: draft.Kind, Parts: draft.Parts, Notable: draft.Notable,
	})
	if err != nil {
		return it, err
	}
	return it, tx.PutItemOf(s.ID, draft.ClientID, it.ID)
}
