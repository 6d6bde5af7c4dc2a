package app

import (
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

// TokenPair is what an installation proves itself with.
type TokenPair struct {
	Access           credential.Secret
	AccessExpireTime time.Time
	Refresh          credential.Token
}

// tokenPair adds an access token to a refresh token. It stores nothing.
func (a *App) tokenPair(account string, inst store.Installation, refresh credential.Token, now time.Time) (TokenPair, error) {
	access, expires, err := a.tokens.Access(AccessGrant{
		Account: account, Installation: inst.ID, AuthEpoch: inst.AuthEpoch, Now: now,
	})
	return TokenPair{Access: access, AccessExpireTime: expires, Refresh: refresh}, err
}
