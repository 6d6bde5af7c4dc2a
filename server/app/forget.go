package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

// forgetBatch bounds what one commit deletes, and one read looks at.
const forgetBatch = 256

// Forget deletes what is over and was kept for a while: results remembered for
// repeats, rows of pushes, what only a living task needs, and tombstones, after
// which an older cursor starts again. It never touches what is open, what the
// person answered, or the audit. It remembers nothing between runs, so one that
// was cut short is simply run again.
func (a *App) Forget(ctx context.Context) error {
	var failed error
	after := ""
	for {
		accounts, err := a.store.AccountsAfter(ctx, after, accountsAtOnce)
		if err != nil || len(accounts) == 0 {
			return errors.Join(failed, err)
		}
		for _, row := range accounts {
			for _, forget := range []func(context.Context, string) error{a.forgetResults, a.forgetDeliveries, a.forgetLeftovers, a.forgetTombstones} {
				failed = errors.Join(failed, forget(ctx, row.Key))
			}
			if ctx.Err() != nil {
				return errors.Join(failed, ctx.Err())
			}
		}
		after = accounts[len(accounts)-1].Key
	}
}

func (a *App) forgetResults(ctx context.Context, account string) error {
	for last := ""; ; {
		var stale []string
		err := a.store.View(ctx, account, func(tx *store.Read) (err error) {
			stale, last, err = tx.StaleResults(last, forgetBatch)
			return err
		})
		if err == nil && len(stale) > 0 {
			err = a.update(ctx, account, func(tx *store.Tx) error { return tx.DropResults(stale) })
		}
		if err != nil || last == "" {
			return err
		}
	}
}

func (a *App) forgetDeliveries(ctx context.Context, account string) error {
	for place := (store.DeliveryPlace{}); ; {
		var over []push.Delivery
		read := 0
		err := a.store.View(ctx, account, func(tx *store.Read) error {
			rows, err := tx.OldDeliveries(tx.Now().Add(-a.limits.DeliveryLife), place, forgetBatch)
			over, read = nil, len(rows)
			for _, d := range rows {
				done, failed := handled(tx, d)
				if err = errors.Join(err, failed); done {
					over = append(over, d)
				}
			}
			if read > 0 {
				place = store.DeliveryPlace{Time: rows[read-1].CreatedAt, ID: rows[read-1].ID}
			}
			return err
		})
		if err == nil && len(over) > 0 {
			err = a.update(ctx, account, func(tx *store.Tx) error { return dropDeliveries(tx, over) })
		}
		if err != nil || read < forgetBatch {
			return err
		}
	}
}

func dropDeliveries(tx *store.Tx, over []push.Delivery) error {
	for _, d := range over {
		if err := tx.DropDelivery(d); err != nil {
			return err
		}
	}
	return nil
}

// handled reports whether nothing can come of a row any more: it has ended, and
// so has what it is about. An alert that is still shown has to be found again to
// be taken back.
func handled(tx *store.Read, d push.Delivery) (bool, error) {
	if !d.State.Final() {
		return false, nil
	}
	if id := d.Subject.Decision; id != "" {
		s, err := tx.Decision(id)
		return missing(err) || err == nil && s.Status != decision.Pending, ignoreMissing(err)
	}
	if id := d.Subject.Thread; id != "" {
		th, err := tx.Thread(id)
		return missing(err) || err == nil && th.Unread() == 0, ignoreMissing(err)
	}
	return true, nil
}

func missing(err error) bool { return errors.Is(err, store.ErrNotFound) }

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

func (a *App) forgetLeftovers(ctx context.Context, account string) error {
	for last := ""; ; {
		var over []string
		read := 0
		err := a.store.View(ctx, account, func(tx *store.Read) error {
			tasks, err := tx.TasksAfter(last, forgetBatch)
			over, read = nil, len(tasks)
			for _, s := range tasks {
				last = s.ID
				if !s.Phase.Terminal() || tx.Now().Before(s.EndTime.Add(a.limits.LeftoverLife)) {
					continue
				}
				has, failed := tx.HasLeftovers(s.ID)
				if err = errors.Join(err, failed); has {
					over = append(over, s.ID)
				}
			}
			return err
		})
		for _, id := range over {
			if err == nil {
				err = a.dropLeftovers(ctx, account, id)
			}
		}
		if err != nil || read < forgetBatch {
			return err
		}
	}
}

func (a *App) dropLeftovers(ctx context.Context, account, id string) error {
	for {
		n := 0
		err := a.update(ctx, account, func(tx *store.Tx) (err error) {
			n, err = tx.DropLeftovers(id, forgetBatch)
			return err
		})
		if err != nil || n < forgetBatch {
			return err
		}
	}
}

func (a *App) forgetTombstones(ctx context.Context, account string) error {
	for {
		old, n := false, 0
		err := a.store.View(ctx, account, func(tx *store.Read) (err error) {
			old, err = tx.Tombstones(tx.Now().Add(-a.limits.TombstoneLife))
			return err
		})
		if err != nil || !old {
			return err
		}
		err = a.update(ctx, account, func(tx *store.Tx) (err error) {
			n, err = tx.PurgeTombstones(tx.Now().Add(-a.limits.TombstoneLife), forgetBatch)
			return err
		})
		if err != nil || n < forgetBatch {
			return err
		}
	}
}
