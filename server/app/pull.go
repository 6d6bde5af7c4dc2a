package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// At is where a client stands in one scope.
type At struct {
	Scope   changelog.Scope
	Cursor  []byte
	Horizon []byte
}

// Pull asks what changed.
type Pull struct {
	At       []At
	MaxBytes int
	Wait     time.Duration
}

// Delta is what a pull found in one scope: a page, or a reset.
type Delta struct {
	Scope changelog.Scope
	Reset changelog.Reset
	// Judged is the epoch in which it was found, or its cursor not good.
	Judged changelog.Epoch
	Page   changelog.Page
	// Next and AsOf are the page's positions, sealed.
	Next, AsOf []byte
	// Made is one for all deltas with this content; nothing of them may be
	// changed.
	Made *Made
}

// Pull reads what changed since the given cursors, in one snapshot; with a wait
// it stays open until something has. A cursor that is not good any more is
// answered by a reset, which is data and no error. Error: ErrRevoked, also for a
// device that was revoked while it waited.
func (a *App) Pull(ctx context.Context, p policy.Principal, c Pull) ([]Delta, error) {
	topics := append(topicsOf(p, c.At), "installation:"+p.Installation)
	var deltas []Delta
	err := a.hub.Tail(ctx, min(c.Wait, a.limits.PullWait), topics, func() (bool, error) {
		var err error
		deltas, err = a.pull(ctx, p, c)
		return news(deltas), err
	})
	return deltas, err
}

func news(deltas []Delta) bool {
	for _, d := range deltas {
		if d.Reset != changelog.NoReset || !d.Page.Empty() {
			return true
		}
	}
	return false
}

func (a *App) pull(ctx context.Context, p policy.Principal, c Pull) ([]Delta, error) {
	deltas := make([]Delta, len(c.At))
	err := a.store.View(ctx, p.Account, func(tx *store.Read) error {
		if _, err := device(tx, p); err != nil {
			return err
		}
		left := pageBytes(c.MaxBytes)
		for i, at := range c.At {
			d, err := a.look(tx, at, left)
			if err != nil {
				return err
			}
			for _, e := range d.Page.Put {
				left -= len(e.Body)
			}
			left = max(left, 1) // every scope gets at least one entity
			deltas[i] = d
		}
		return nil
	})
	if err == nil {
		err = a.noticeRestore(ctx, deltas)
	}
	if err != nil {
		return nil, err
	}
	return deltas, nil
}

// look finds what is new in one scope.
func (a *App) look(tx *store.Read, at At, maxBytes int) (Delta, error) {
	err := scopeExists(tx, at.Scope)
	if errors.Is(err, store.ErrNotFound) {
		return Delta{Scope: at.Scope, Reset: changelog.Forbidden, Made: &Made{}}, nil
	}
	if err != nil {
		return Delta{}, err
	}
	return a.shared(tx, at, maxBytes)
}

func (a *App) delta(tx *store.Read, at At, history changelog.History, maxBytes int) (Delta, error) {
	d := Delta{Scope: at.Scope, Made: &Made{}, Judged: history.Current()}
	cursor, err := a.stamps.OpenCursor(tx.Account(), at.Scope, at.Cursor)
	if err != nil {
		d.Reset = resetFor(err)
		return d, nil
	}
	horizon, err := a.stamps.OpenStamp(tx.Account(), at.Scope, at.Horizon)
	if err != nil {
		d.Reset = resetFor(err)
		return d, nil
	}
	if d.Reset = changelog.Judge(history, cursor, horizon); d.Reset != changelog.NoReset {
		return d, nil
	}
	if d.Page, err = tx.Changes(at.Scope, cursor.Seq, maxBytes); err != nil {
		return d, err
	}
	d.Next = a.stamps.Cursor(tx.Account(), at.Scope, d.Page.Next)
	d.AsOf = a.stamps.Stamp(tx.Account(), at.Scope, d.Page.AsOf)
	return d, nil
}

func resetFor(err error) changelog.Reset {
	if errors.Is(err, changelog.ErrForbidden) {
		return changelog.Forbidden
	}
	return changelog.Malformed
}
