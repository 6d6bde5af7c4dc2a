package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

// ClaimServer takes an account by its link.
type ClaimServer struct {
	Secret credential.Secret
	Device NewDevice
}

// ClaimServerResult is the device that is in now.
type ClaimServerResult struct {
	// Account is the account's id.
	Account      string
	Installation store.Installation
	Tokens       TokenPair
}

// ClaimServer makes the first installation of an account, or after a reset one
// more. It starts without probation and counts as verified for the first
// minutes, since it cannot have shown anything yet. The link is good once. By
// anybody who holds it. Errors: ErrBadSecret for any link that is not good,
// *FieldError for a device that is not.
func (a *App) ClaimServer(ctx context.Context, c ClaimServer) (ClaimServerResult, error) {
	inst, err := a.newDevice(c.Device)
	if err != nil {
		return ClaimServerResult{}, err
	}
	link, err := credential.ParseKind(c.Secret.Reveal(), credential.KindOwner)
	if err != nil {
		return ClaimServerResult{}, ErrBadSecret
	}
	row, err := a.store.Credential(ctx, link.ID())
	if errors.Is(err, store.ErrNotFound) {
		err = ErrBadSecret
	}
	if err != nil {
		return ClaimServerResult{}, err
	}
	var result ClaimServerResult
	err = a.update(ctx, row.Account, func(tx *store.Tx) error {
		result, err = a.claimServer(tx, link, inst)
		return err
	})
	return result, err
}

func (a *App) claimServer(tx *store.Tx, link credential.Token, inst store.Installation) (ClaimServerResult, error) {
	account, err := spendLink(tx, link)
	if err != nil {
		return ClaimServerResult{}, err
	}
	refresh, err := credential.New(a.random, credential.KindRefresh)
	if err != nil {
		return ClaimServerResult{}, err
	}
	if inst.ID, err = a.newID(tx.Read, store.KindInstallation); err != nil {
		return ClaimServerResult{}, err
	}
	inst.State, inst.CreateTime = store.InstallationActive, tx.Now()
	inst.FullUntil = tx.Now().Add(a.limits.ClaimWindow)
	if err := a.admit(tx, inst, refresh); err != nil {
		return ClaimServerResult{}, err
	}
	outcome := "first"
	if account.Claimed {
		outcome = "reset"
	}
	account.Claimed, account.Link = true, ""
	if err := tx.PutAccountRow(account); err != nil {
		return ClaimServerResult{}, err
	}
	if err := tx.Audit(inst.ID, "account.claimed", store.AccountID(account.Key), outcome); err != nil {
		return ClaimServerResult{}, err
	}
	tokens, err := a.tokenPair(tx.Account(), inst, refresh, tx.Now())
	return ClaimServerResult{Account: store.AccountID(account.Key), Installation: inst, Tokens: tokens}, err
}

// spendLink is where of many claims at the same moment one wins: the row of the
// link is gone for all others.
func spendLink(tx *store.Tx, link credential.Token) (store.AccountRow, error) {
	row, err := tx.CredentialRow(link.ID())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.AccountRow{}, ErrBadSecret
	case err != nil:
		return store.AccountRow{}, err
	case row.Kind != store.CredentialClaim, row.Account != tx.Account(), !sameHash(row.Hash, link.Hash()),
		tx.Now().Before(row.StartTime), !tx.Now().Before(row.ExpireTime):
		return store.AccountRow{}, ErrBadSecret
	}
	account, err := tx.AccountRow()
	if err != nil {
		return store.AccountRow{}, err
	}
	return account, tx.DeleteCredential(link.ID())
}
