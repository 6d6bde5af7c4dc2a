package app

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// once runs a write under the caller's idempotency key: a repeat with the same
// command gets the first result, another command is ErrKeyReused. The record
// and the write share one transaction, so there is never one without the
// other. Only success is remembered.
func once[R any](a *App, tx *store.Tx, p policy.Principal, method, key string, command any, run func() (R, error)) (R, error) {
	var zero R
	body, err := json.Marshal(command)
	if err != nil {
		return zero, fmt.Errorf("app: encode command: %w", err)
	}
	hash := sha256.Sum256(body)
	result, found, err := recall[R](tx.Read, p.ID(), method, key, hash[:])
	if err != nil || found {
		return result, err
	}
	if result, err = run(); err != nil {
		return zero, err
	}
	return result, remember(a, tx, p.ID(), method, key, hash[:], result)
}

// recall reads what was remembered under a caller's key. That of another command
// is ErrKeyReused; it is found all the same.
func recall[R any](tx *store.Read, by, method, key string, hash []byte) (result R, found bool, err error) {
	have, found, err := tx.Once(by, method, key)
	if err != nil || !found {
		return result, false, err
	}
	if subtle.ConstantTimeCompare(have.BodyHash, hash) != 1 {
		return result, true, ErrKeyReused
	}
	if err := json.Unmarshal(have.Result, &result); err != nil {
		return result, true, fmt.Errorf("app: decode remembered result: %w", err)
	}
	return result, true, nil
}

// remember keeps a result under a caller's key.
func remember[R any](a *App, tx *store.Tx, by, method, key string, hash []byte, result R) error {
	kept, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("app: encode result: %w", err)
	}
	return tx.PutOnce(by, method, key, store.Idempotent{
		BodyHash: hash, Result: kept, ExpireTime: tx.Now().Add(a.limits.Idempotency),
	})
}
