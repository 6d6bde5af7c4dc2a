package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/failpoint"
	"github.com/beckon-dev/beckon/server/store"
)

// looseAtOnce is how many loose artifacts one look takes.
const looseAtOnce = 256

// SweepArtifacts removes the bytes that nobody has had for the grace: those
// that no task has, those that never got a row, and uploads that did not end.
// Whatever it is interrupted by, no task loses bytes that it has, and the next
// sweep goes on: the row says DELETING before the bytes go, and goes after
// them, so that an upload meanwhile stores them anew. What fails is returned
// and does not hold up the rest.
func (a *App) SweepArtifacts(ctx context.Context) error {
	before := a.clock().UTC().Add(-a.limits.ArtifactGrace)
	loose := a.sweepLoose(ctx, before)
	_, unfinished := a.blobs.RemoveUnfinished(ctx, before)
	return errors.Join(loose, unfinished, a.sweepNameless(ctx, before))
}

// sweepLoose removes what no task has.
func (a *App) sweepLoose(ctx context.Context, before time.Time) error {
	for {
		found, err := a.store.LooseArtifacts(ctx, before, looseAtOnce)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, l := range found {
			err = errors.Join(err, a.removeArtifact(ctx, l.Account, l.Sum, before))
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err()) // what failed would be found again at once
		}
	}
}

// removeArtifact removes one artifact, if it is still loose.
func (a *App) removeArtifact(ctx context.Context, account string, sum store.Sum, before time.Time) error {
	unlock, err := a.locks.lock(ctx, account, sum)
	if err != nil {
		return err
	}
	defer unlock()
	doomed := false
	err = a.update(ctx, account, func(tx *store.Tx) error {
		doomed, err = looseSince(tx.Read, sum, before)
		if err != nil || !doomed {
			return err
		}
		return tx.DeletingArtifact(sum)
	})
	if err != nil || !doomed {
		return err
	}
	failpoint.Hit("artifact.deleting")
	if err := a.blobs.Remove(account, sum); err != nil {
		return err
	}
	failpoint.Hit("artifact.removed")
	return a.update(ctx, account, func(tx *store.Tx) error { return tx.DeleteArtifact(sum) })
}

// looseSince reads again whether nobody has an artifact.
func looseSince(tx *store.Read, sum store.Sum, before time.Time) (bool, error) {
	row, err := tx.Artifact(sum)
	if err != nil || row.LooseTime.IsZero() || !row.LooseTime.Before(before) {
		return false, err
	}
	held := false
	err = tx.ArtifactHolders(sum, func(string) bool { held = true; return false })
	return !held, err
}

// sweepNameless removes bytes that never got a row.
func (a *App) sweepNameless(ctx context.Context, before time.Time) error {
	var failed error
	err := a.blobs.List(ctx, before, func(account string, sums []store.Sum) error {
		var nameless []store.Sum
		err := a.store.View(ctx, account, func(tx *store.Read) error {
			nameless = nil
			for _, sum := range sums {
				if _, err := tx.Artifact(sum); errors.Is(err, store.ErrNotFound) {
					nameless = append(nameless, sum)
				} else if err != nil {
					return err
				}
			}
			return nil
		})
		for _, sum := range nameless {
			failed = errors.Join(failed, a.removeNameless(ctx, account, sum))
		}
		return err
	})
	return errors.Join(failed, err)
}

// removeNameless looks again under the lock: bytes that have their name and
// wait for their row are under it.
func (a *App) removeNameless(ctx context.Context, account string, sum store.Sum) error {
	unlock, err := a.locks.lock(ctx, account, sum)
	if err != nil {
		return err
	}
	defer unlock()
	return a.forgetBytes(ctx, account, sum)
}
