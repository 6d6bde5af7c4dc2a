package app

import (
	"context"
	"slices"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// ListItems asks for a page of a timeline.
type ListItems struct {
	Thread string
	// Before is the position to go back from; 0 means the end.
	Before uint64
	Size   int
}

const (
	itemsDefault = 50
	itemsBytes   = 256 << 10
)

// ListItems reads a page, in timeline order, for whoever may see the thread.
// Error: store.ErrNotFound.
func (a *App) ListItems(ctx context.Context, p policy.Principal, c ListItems) (items []thread.Item, more bool, err error) {
	if c.Size == 0 {
		c.Size = itemsDefault
	}
	err = a.viewThread(ctx, p, c.Thread, func(tx *store.Read, _ thread.State) error {
		items, more, err = tx.Items(c.Thread, c.Before, c.Size, itemsBytes)
		slices.Reverse(items)
		return err
	})
	return items, more, err
}
