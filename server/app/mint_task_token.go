package app

import (
	"context"
	"errors"
	"time"

	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/task"
)

// MintedToken is a task token, which exists in this answer only.
type MintedToken struct {
	Token      credential.Token
	ExpireTime time.Time
}

// taskTokens is how many live tokens one lease may have.
const taskTokens = 64

// MintTaskToken makes a credential for one task under one lease, so that child
// processes need not hold the key. It dies with the lease, with the key of its
// minter, or after an hour. By the agent. Errors: ErrWrongPrincipal,
// task.ErrLeaseLost, *QuotaError, ErrScope, ErrRevoked, store.ErrNotFound.
func (a *App) MintTaskToken(ctx context.Context, p policy.Principal, h Held) (MintedToken, error) {
	if p.Kind != policy.Agent {
		return MintedToken{}, ErrWrongPrincipal
	}
	key, err := a.store.Credential(ctx, p.Key)
	if errors.Is(err, store.ErrNotFound) {
		err = ErrBadToken
	}
	if err != nil {
		return MintedToken{}, err
	}
	var out MintedToken
	err = a.work(ctx, p, h, func(tx *store.Tx, s task.State, lease string) error {
		if !leased(s, lease) {
			return task.ErrLeaseLost
		}
		token, err := credential.New(a.random, credential.KindTask)
		if err != nil {
			return err
		}
		out = MintedToken{Token: token, ExpireTime: tx.Now().Add(a.limits.TaskToken)}
		if key.ExpireTime.Before(out.ExpireTime) {
			out.ExpireTime = key.ExpireTime
		}
		hash := token.Hash()
		live, err := tx.PutTaskToken(store.TaskToken{
			ID: token.ID(), Agent: s.Agent, Key: p.Key, Task: s.ID, Lease: lease,
			Hash: hash[:], ExpireTime: out.ExpireTime,
		})
		if err == nil && live > taskTokens {
			err = &QuotaError{What: "task_tokens", Max: taskTokens}
		}
		return err
	})
	return out, err
}

// leased reports whether a lease is the one a task is held by now.
func leased(s task.State, lease string) bool {
	return s.Phase == task.Running && lease != "" && s.Lease.ID == lease
}
