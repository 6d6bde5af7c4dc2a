package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// ThreadResult is a thread as it stands.
type ThreadResult struct {
	Thread thread.State
	AsOf   []byte
}

// ArchiveThread puts a thread out of the way, or fetches it back. By any device.
// Errors: ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) ArchiveThread(ctx context.Context, p policy.Principal, id string, away bool) (ThreadResult, error) {
	var result ThreadResult
	err := a.onAccount(ctx, p, func(tx *store.Tx, _ store.Installation) error {
		if _, err := ownAccount(p, store.KindThread, id); err != nil {
			return err
		}
		th, err := tx.Thread(id)
		if err != nil {
			return err
		}
		if th.Archived != away {
			th = thread.Archive(th, away)
			if err := tx.PutThread(th, true); err != nil {
				return err
			}
		}
		result.Thread = th
		result.AsOf, err = a.asOf(tx)
		return err
	})
	return result, err
}
