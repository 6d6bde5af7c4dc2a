package app

import (
	"context"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// IssuedKey is a key with its secret, which exists in this answer only.
type IssuedKey struct {
	Key    store.AgentKey
	Secret credential.Token
}

// maxKeyDays is the longest life of a key.
const maxKeyDays = 365

// IssueKey makes a key of an agent that the caller's account owns; 0 days means
// the default. Two may be active, so that one can take the place of the other
// without a gap. By a device whose person is present. Errors: *StepUpError,
// *QuotaError, *FieldError, ErrWrongPrincipal, ErrRevoked, store.ErrNotFound.
func (a *App) IssueKey(ctx context.Context, p policy.Principal, agent string, days int) (IssuedKey, error) {
	if _, err := ownAccount(p, store.KindAgent, agent); err != nil {
		return IssuedKey{}, err
	}
	if days == 0 {
		days = a.limits.KeyDays
	}
	if days < 0 || days > maxKeyDays {
		return IssuedKey{}, &FieldError{Field: "days", Reason: "LIMIT", Max: maxKeyDays}
	}
	var out IssuedKey
	err := a.onAccountVerified(ctx, p, func(tx *store.Tx, inst store.Installation) error {
		var err error
		out, err = a.issueKey(tx, inst, agent, days)
		return err
	})
	return out, err
}

func (a *App) issueKey(tx *store.Tx, by store.Installation, agent string, days int) (IssuedKey, error) {
	if _, err := tx.Agent(agent); err != nil {
		return IssuedKey{}, err
	}
	keys, err := tx.Keys(agent)
	if err != nil {
		return IssuedKey{}, err
	}
	active := 0
	for _, k := range keys {
		if tx.Now().Before(k.ExpireTime) {
			active++
		}
	}
	if active >= a.limits.KeysPerAgent {
		return IssuedKey{}, &QuotaError{What: "keys_per_agent", Max: int64(a.limits.KeysPerAgent)}
	}
	secret, err := credential.New(a.random, credential.KindAgent)
	if err != nil {
		return IssuedKey{}, err
	}
	hash := secret.Hash()
	key := store.AgentKey{
		ID: secret.ID(), Agent: agent, Hash: hash[:], CreateTime: tx.Now(),
		ExpireTime: tx.Now().Add(time.Duration(days) * 24 * time.Hour),
	}
	if err := tx.PutKey(key); err != nil {
		return IssuedKey{}, err
	}
	return IssuedKey{Key: key, Secret: secret}, tx.Audit(by.ID, "key.issued", key.ID, "")
}
