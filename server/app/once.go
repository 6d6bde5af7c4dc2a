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
	have, found, err := tx.Once(p.ID(), method, key)
	if err != nil {
		return zero, err
	}
	if found {
		if subtle.ConstantTimeCompare(have.BodyHash, hash[:]) != 1 {
			return zero, ErrKeyReused
		}
		return recall[R](have.Result)
	}
	result, err := run()
	if err != nil {
		return zero, err
	}
	kept, err := remember(result)
	if err != nil {
		return zero, err
	}
	return result, tx.PutOnce(p.ID(), method, key, store.Idempotent{
		BodyHash: hash[:], Result: kept, ExpireTime: tx.Now().Add(a.limits.Idempotency),
	})
}

// remember is a result in the form in which it is kept, recall reads it again.
func remember[R any](result R) ([]byte, error) {
	kept, err := json.Marshal(result)
	if err != nil {
		return nil, fmt.Errorf("app: encode result: %w", err)
	}
	return kept, nil
}

func recall[R any](kept []byte) (result R, err error) {
	if err := json.Unmarshal(kept, &result); err != nil {
		return result, fmt.Errorf("app: decode remembered result: %w", err)
	}
	return result, nil
}
