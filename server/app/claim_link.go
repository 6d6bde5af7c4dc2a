package app

import (
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

// ClaimLink is the one-use secret by which a device takes an account. Only its
// hash is stored.
type ClaimLink struct {
	// Account is the account's id.
	Account string
	Secret  credential.Token
	// StartTime is when it begins to be good.
	StartTime  time.Time
	ExpireTime time.Time
}

// issueLink writes a new link of an account; the one before dies with it.
func (a *App) issueLink(tx *store.Tx, row store.AccountRow, start time.Time) (ClaimLink, error) {
	secret, err := credential.New(a.random, credential.KindOwner)
	if err != nil {
		return ClaimLink{}, err
	}
	link := ClaimLink{
		Account: store.AccountID(row.Key), Secret: secret,
		StartTime: start, ExpireTime: start.Add(a.limits.ClaimLife),
	}
	if row.Link != "" {
		if err := tx.DeleteCredential(row.Link); err != nil {
			return ClaimLink{}, err
		}
	}
	hash := secret.Hash()
	if err := tx.PutCredential(store.Credential{
		ID: secret.ID(), Kind: store.CredentialClaim, Account: row.Key, Hash: hash[:],
		StartTime: link.StartTime, ExpireTime: link.ExpireTime,
	}); err != nil {
		return ClaimLink{}, err
	}
	row.Link = secret.ID()
	return link, tx.PutAccountRow(row)
}
