package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Alarm is something that an operator has to know at once.
type Alarm string

// AlarmUnnoticedRestore: a device holds a true stamp that the store has not
// reached. Somebody has taken the store back and not said so.
const AlarmUnnoticedRestore Alarm = "unnoticed_restore"

// noticeRestore begins an epoch where a delta shows that the store was taken
// back without a word. It was written to since, so no older cursor is good any
// more. However many devices show it, it happens once: each names the epoch that
// it was judged in. The stamp is authentic, and an authentic one cannot be ahead
// of its own history, so nobody brings this about by inventing one.
func (a *App) noticeRestore(ctx context.Context, deltas []Delta) error {
	for _, d := range deltas {
		if d.Reset != changelog.Ahead {
			continue
		}
		began, err := a.beginEpoch(ctx, store.NewEpoch{From: d.Judged, CutOff: true})
		if err != nil || !began {
			return err
		}
		a.alarm(AlarmUnnoticedRestore)
		_, err = a.SettleRestore(context.WithoutCancel(ctx)) // whoever asked may be gone
		return err
	}
	return nil
}
