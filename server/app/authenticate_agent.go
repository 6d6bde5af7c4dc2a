package app

import (
	"context"
	"errors"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// AuthenticateAgent says whom an agent key or a task token stands for. It reads
// the store each time, so what was revoked is dead with the next call. Errors:
// ErrBadToken for an unknown one, ErrExpired, ErrRevoked also for a task token
// whose lease or key is gone.
func (a *App) AuthenticateAgent(ctx context.Context, token credential.Token) (policy.Principal, error) {
	presented := token.Hash() // before the look-up, so that unknown costs as much as wrong
	row, err := a.store.Credential(ctx, token.ID())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return policy.Principal{}, err
	}
	if err != nil || !sameHash(row.Hash, presented) || row.Kind != credentialKind(token.Kind()) {
		return policy.Principal{}, ErrBadToken
	}
	switch {
	case row.Revoked:
		return policy.Principal{}, ErrRevoked
	case !a.clock().Before(row.ExpireTime):
		return policy.Principal{}, ErrExpired
	case row.Kind == store.CredentialAgent:
		return policy.Principal{Kind: policy.Agent, Agent: row.Agent, Key: row.ID}, nil
	}
	if err := a.checkTaskToken(ctx, row); err != nil {
		return policy.Principal{}, err
	}
	return policy.Principal{Kind: policy.TaskToken, Agent: row.Agent, Key: row.Key, Task: row.Task, Lease: row.Lease}, nil
}

// credentialKind is the stored kind of what stands for an agent; 0 for any
// other, which no row has.
func credentialKind(k credential.Kind) store.CredentialKind {
	switch k {
	case credential.KindAgent:
		return store.CredentialAgent
	case credential.KindTask:
		return store.CredentialTask
	default:
		return 0
	}
}

// checkTaskToken looks at what a task token lives by: the lease it was minted
// under and the key that minted it.
func (a *App) checkTaskToken(ctx context.Context, row store.Credential) error {
	return a.store.View(ctx, row.Account, func(tx *store.Read) error {
		s, err := tx.Task(row.Task)
		if err != nil {
			return err
		}
		if !leased(s, row.Lease) {
			return ErrRevoked
		}
		key, err := tx.CredentialRow(row.Key)
		if err == nil && key.Revoked || errors.Is(err, store.ErrNotFound) {
			return ErrRevoked
		}
		return err
	})
}
