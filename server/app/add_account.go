package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// AddAccount makes an account for one more person, with the link by which their
// first device comes in. By the operator. Error: ErrWrongPrincipal.
func (a *App) AddAccount(ctx context.Context, p policy.Principal) (ClaimLink, error) {
	if p.Kind != policy.Operator {
		return ClaimLink{}, ErrWrongPrincipal
	}
	return a.newAccount(ctx, func(*store.Tx) error { return nil })
}
