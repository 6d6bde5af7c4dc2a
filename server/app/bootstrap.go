package app

import (
	"context"
	"errors"
	"slices"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// Bootstrap asks for a page of the present state of a scope.
type Bootstrap struct {
	Scope    changelog.Scope
	Page     []byte
	MaxBytes int
	// Window is what comes first; a page token goes on behind it.
	Window Window
	// Kinds, where there are any, are all that is read.
	Kinds []changelog.Kind
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
		put, last, more, err := a.bootstrapPage(tx, c, last)
		if err != nil {
			return err
		}
		page = BootstrapPage{
			Put: put, Complete: !more, Epoch: asOf.Epoch,
			Cursor: a.stamps.Cursor(tx.Account(), c.Scope, from),
			AsOf:   a.stamps.Stamp(tx.Account(), c.Scope, asOf),
		}
		if more {
			page.Page = a.stamps.PageToken(tx.Account(), c.Scope, from, last)
		}
		return nil
	})
	return page, err
}

// bootstrapPage reads one page: the window first, then what is behind the last
// key. It gives the key to go on from.
func (a *App) bootstrapPage(tx *store.Read, c Bootstrap, last changelog.Key) (put []changelog.Entity, _ changelog.Key, more bool, err error) {
	first := len(c.Page) == 0
	switch {
	case len(c.Kinds) > 0:
		put, more, err = entitiesOf(tx, c, last)
	case first && c.Window == WindowHome && c.Scope == changelog.AccountScope:
		put, err = home(tx)
		return put, changelog.Key{}, true, err
	case first && c.Window == WindowThread && c.Scope != changelog.AccountScope:
		put, err = threadWindow(tx, c.Scope, windowBytes(c.MaxBytes))
		return put, changelog.Key{}, false, err
	default:
		put, more, err = tx.Entities(c.Scope, last, pageBytes(c.MaxBytes))
	}
	if more {
		last = put[len(put)-1].Key
	}
	return put, last, more, err
}

// entitiesOf reads a page of the kinds that are asked for, in their order.
func entitiesOf(tx *store.Read, c Bootstrap, last changelog.Key) (put []changelog.Entity, more bool, err error) {
	left := pageBytes(c.MaxBytes)
	for _, kind := range slices.Sorted(slices.Values(c.Kinds)) {
		if kind < last.Kind {
			continue
		}
		if left <= 0 || len(put) >= store.PageEntities {
			return put, true, nil
		}
		page, more, err := tx.EntitiesOf(c.Scope, kind, last, left)
		if err != nil {
			return nil, false, err
		}
		if put = append(put, page...); len(put) > store.PageEntities {
			return put[:store.PageEntities], true, nil
		}
		if more {
			return put, true, nil
		}
		for _, e := range page {
			left -= len(e.Body)
		}
	}
	return put, false, nil
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
