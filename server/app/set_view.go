package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/thread"
)

// SetView tells where a thread is left.
type SetView struct {
	Thread string
	// Anchor is the position of the item at the top, 0 for the end; Offset how
	// much of it was scrolled past, in thousandths.
	Anchor uint64
	Offset uint32
	// Decision is the question that is open; it has to be one of the thread.
	Decision string
}

// SetViewResult is what was recorded.
type SetViewResult struct {
	View thread.View
	AsOf []byte
}

// SetView records where a person leaves a thread, for the next device to go on
// from. The last one to be recorded counts. By any device. Errors: *FieldError,
// ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) SetView(ctx context.Context, p policy.Principal, c SetView) (SetViewResult, error) {
	return commit(ctx, a, a.settingView(p, c))
}

func (a *App) settingView(p policy.Principal, c SetView) change[SetViewResult] {
	return onDevice(p, func(tx *store.Tx, inst store.Installation) (SetViewResult, error) {
		if _, err := ownAccount(p, store.KindThread, c.Thread); err != nil {
			return SetViewResult{}, err
		}
		th, err := tx.Thread(c.Thread)
		if err != nil {
			return SetViewResult{}, err
		}
		if err := ofThread(tx.Read, p, c.Decision, th.ID); err != nil {
			return SetViewResult{}, err
		}
		result := SetViewResult{View: thread.Leave(th, thread.View{
			Anchor: c.Anchor, Offset: c.Offset, Decision: c.Decision, Installation: inst.ID, Label: inst.Label,
		}, tx.Now())}
		if err := tx.PutView(result.View); err != nil {
			return SetViewResult{}, err
		}
		result.AsOf, err = a.asOf(tx)
		return result, err
	})
}

// ofThread refuses a question of another thread; one of nobody's or of another
// account is unknown.
func ofThread(tx *store.Read, p policy.Principal, id, thread string) error {
	if id == "" {
		return nil
	}
	if _, err := ownAccount(p, store.KindDecision, id); err != nil {
		return err
	}
	d, err := tx.Decision(id)
	if err == nil && d.Thread != thread {
		err = &FieldError{Field: "decision_id", Reason: "NOT_ALLOWED"}
	}
	return err
}
