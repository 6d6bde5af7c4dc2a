package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// CreateClaimLink asks for a new claim link.
type CreateClaimLink struct {
	// Account is an account id. Empty means the only one, which is made where
	// there is none yet.
	Account string
	// Reset lets a person who lost every device into a claimed account again.
	Reset bool
}

// resetDelay is how long a reset waits on a server with several people, where
// the operator may be somebody else than the owner of the account.
const resetDelay = 24 * time.Hour

// CreateClaimLink makes the link by which the first device of an account comes
// in, or, as a reset, one more that then counts as verified for a while. It
// ends the link before. By the operator. Errors: ErrWrongPrincipal, ErrClaimed
// without Reset, ErrNoAccount where several have to be told apart,
// store.ErrNotFound.
func (a *App) CreateClaimLink(ctx context.Context, p policy.Principal, c CreateClaimLink) (ClaimLink, error) {
	if p.Kind != policy.Operator {
		return ClaimLink{}, ErrWrongPrincipal
	}
	accounts, err := a.store.Accounts(ctx, 2)
	if err != nil {
		return ClaimLink{}, err
	}
	key, known := store.AccountKey(c.Account)
	switch {
	case c.Account != "" && !known:
		return ClaimLink{}, store.ErrNotFound
	case c.Account == "" && len(accounts) > 1:
		return ClaimLink{}, ErrNoAccount
	case c.Account == "" && len(accounts) == 1:
		key = accounts[0].Key
	case c.Account == "":
		link, err := a.firstAccount(ctx)
		if !errors.Is(err, errSecondAccount) {
			return link, err
		}
		return a.CreateClaimLink(ctx, p, c) // another start made it a moment ago
	}
	var link ClaimLink
	err = a.update(ctx, key, func(tx *store.Tx) error {
		link, err = a.claimLinkAgain(tx, p, c.Reset, len(accounts) > 1)
		return err
	})
	return link, err
}

func (a *App) claimLinkAgain(tx *store.Tx, p policy.Principal, reset, several bool) (ClaimLink, error) {
	row, err := tx.AccountRow()
	if err != nil {
		return ClaimLink{}, err
	}
	start := tx.Now()
	if row.Claimed {
		if !reset {
			return ClaimLink{}, ErrClaimed
		}
		if several {
			start = start.Add(resetDelay)
		}
		if err := tx.Audit(p.ID(), "account.reset", store.AccountID(row.Key), ""); err != nil {
			return ClaimLink{}, err
		}
	}
	return a.issueLink(tx, row, start)
}

// errSecondAccount: a first account was to be made and there is one.
var errSecondAccount = errors.New("app: not the first account")

func (a *App) firstAccount(ctx context.Context) (ClaimLink, error) {
	return a.newAccount(ctx, func(tx *store.Tx) error {
		_, found, err := tx.AnyAccount()
		if err == nil && found {
			err = errSecondAccount
		}
		return err
	})
}

// newAccount makes an account nobody owns yet, with the link to it.
func (a *App) newAccount(ctx context.Context, allowed func(*store.Tx) error) (ClaimLink, error) {
	key, err := store.NewAccountKey(a.random)
	if err != nil {
		return ClaimLink{}, err
	}
	var link ClaimLink
	err = a.update(ctx, key, func(tx *store.Tx) error {
		if err := allowed(tx); err != nil {
			return err
		}
		link, err = a.issueLink(tx, store.AccountRow{Key: key, CreateTime: tx.Now()}, tx.Now())
		return err
	})
	return link, err
}
