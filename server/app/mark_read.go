package app

import (
	"context"
	"maps"

	"github.com/beckon-dev/beckon/push/plan"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// MarkReadResult is the merged mark.
type MarkReadResult struct {
	Mark thread.ReadMark
	AsOf []byte
}

// MarkRead moves the read mark of a thread; marks merge by the larger one, so
// order and repetition do not matter. Error: store.ErrNotFound.
func (a *App) MarkRead(ctx context.Context, p policy.Principal, id string, mark thread.ReadMark) (MarkReadResult, error) {
	return commit(ctx, a, a.markingRead(p, id, mark))
}

func (a *App) markingRead(p policy.Principal, id string, mark thread.ReadMark) change[MarkReadResult] {
	account, err := ownAccount(p, store.KindThread, id)
	return change[MarkReadResult]{account: account, err: err, run: func(tx *store.Tx) (MarkReadResult, error) {
		th, err := tx.Thread(id)
		if err != nil {
			return MarkReadResult{}, err
		}
		before := tx.Counters().Badge()
		th = thread.MarkRead(th, mark)
		if err := tx.PutThread(th, true); err != nil {
			return MarkReadResult{}, err
		}
		told, err := a.takeBackRead(tx, th, p.Installation)
		if err != nil {
			return MarkReadResult{}, err
		}
		if tx.Counters().Badge() < before {
			if err := a.recount(tx, p.Installation, told); err != nil {
				return MarkReadResult{}, err
			}
		}
		result := MarkReadResult{Mark: th.Read}
		result.AsOf, err = a.asOf(tx)
		return result, err
	}}
}

// takeBackRead lets the alerts about results that are read now disappear from
// the other devices, and returns the addresses that are told so.
func (a *App) takeBackRead(tx *store.Tx, th thread.State, by string) (map[string]bool, error) {
	read, err := tx.TakeRead(th.ID, th.Read.Position)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, id := range read {
		told, err := a.plan(tx, plan.ResultRead{Subject: subjectOf(th.ID, id), By: by})
		if err != nil {
			return nil, err
		}
		maps.Copy(all, told)
	}
	return all, nil
}
