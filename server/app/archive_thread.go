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
	return commit(ctx, a, a.archiving(p, id, away))
}

func (a *App) archiving(p policy.Principal, id string, away bool) change[ThreadResult] {
	return onDevice(p, func(tx *store.Tx, _ store.Installation) (ThreadResult, error) {
		if _, err := ownAccount(p, store.KindThread, id); err != nil {
			return ThreadResult{}, err
		}
		th, err := tx.Thread(id)
		if err != nil {
			return ThreadResult{}, err
		}
		if th.Archived != away {
			th = thread.Archive(th, away)
			if err := tx.PutThread(th, true); err != nil {
				return ThreadResult{}, err
			}
		}
		asOf, err := a.asOf(tx)
		return ThreadResult{Thread: th, AsOf: asOf}, err
	})
}
