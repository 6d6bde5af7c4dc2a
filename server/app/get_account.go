package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// Account is who the caller is and how the account is set.
type Account struct {
	// ID is the account's id.
	ID           string
	Installation string
	Settings     store.Settings
}

// GetAccount reads the caller's account. By any device. Errors:
// ErrWrongPrincipal, ErrRevoked.
func (a *App) GetAccount(ctx context.Context, p policy.Principal) (Account, error) {
	out := Account{ID: store.AccountID(p.Account), Installation: p.Installation}
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		var err error
		out.Settings, err = tx.Settings()
		return err
	})
	return out, err
}
