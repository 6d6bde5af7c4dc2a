package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Bootstrap asks for a page of the present state of a scope.
type Bootstrap struct {
	Scope    changelog.Scope
	Page     []byte
	MaxBytes int
}

// BootstrapPage is a page. Cursor is the position taken before the first one.
type BootstrapPage struct {
	Put      []changelog.Entity
	Page     []byte
	Cursor   []byte
	Complete bool
	AsOf     []byte
	Epoch    changelog.Epoch
}

// ErrPage: a page token that is not of this scope, or of a history that is
// gone. The client starts over.
var ErrPage = errors.New("app: page token is not good")

// Bootstrap pages through a scope. The first page reads the position in the
// same snapshot as its rows, and it rides along unchanged: position first, then
// data, so nothing that is written in between is missed. Errors: ErrPage, ErrRevoked,
// store.ErrNotFound.
func (a *App) Bootstrap(ctx context.Context, p policy.Principal, c Bootstrap) (BootstrapPage, error) {
	var page BootstrapPage
	err := a.store.View(ctx, p.Account, func(tx *store.Read) error {
		if _, err := device(tx, p); err != nil {
			return err
		}
		if err := scopeExists(tx, c.Scope); err != nil {
			return err
		}
		asOf, err := tx.AsOf(c.Scope)
		if err != nil {
			return err
		}
		from, last := asOf, changelog.Key{}
		if len(c.Page) > 0 {
			if from, last, err = a.stamps.OpenPageToken(tx.Account(), c.Scope, c.Page); err != nil || from.Epoch != asOf.Epoch {
				return ErrPage
			}
		}
		put, more, err := tx.Entities(c.Scope, last, pageBytes(c.MaxBytes))
		if err != nil {
			return err
		}
		page = BootstrapPage{
			Put: put, Complete: !more, Epoch: asOf.Epoch,
			Cursor: a.stamps.Cursor(tx.Account(), c.Scope, from),
			AsOf:   a.stamps.Stamp(tx.Account(), c.Scope, asOf),
		}
		if more {
			page.Page = a.stamps.PageToken(tx.Account(), c.Scope, from, put[len(put)-1].Key)
		}
		return nil
	})
	return page, err
}

// scopeExists keeps a foreign thread as unknown as one that never was.
func scopeExists(tx *store.Read, s changelog.Scope) error {
	if s == changelog.AccountScope {
		return nil
	}
	if account, err := accountOf(store.KindThread, s.Thread); err != nil || account != tx.Account() {
		return store.ErrNotFound
	}
	_, err := tx.Thread(s.Thread)
	return err
}

func pageBytes(wanted int) int {
	if wanted <= 0 || wanted > store.PageBytes {
		return store.PageBytes
	}
	return wanted
}
