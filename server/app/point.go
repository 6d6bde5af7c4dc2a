package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
)

// PointRef names an entity, with the version that is known to exist.
type PointRef struct {
	Scope changelog.Scope
	Key   changelog.Key
	Min   changelog.Seq
}

// Found is what a read outside the order of changes found in one scope.
type Found struct {
	Scope changelog.Scope
	Put   []changelog.Entity
	// AsOf is nil for a scope that is not of the caller.
	AsOf  []byte
	Epoch changelog.Epoch
}

// pointWait is how long a point read waits for a version that is not there yet.
const pointWait = 2 * time.Second

// Point reads a few entities by name, as after a tap on a push. It waits a
// moment for the versions that are said to exist, and then is what there is; it
// never moves a cursor. What is of another account, or nowhere, is not found,
// and not waited for where its scope is neither. Error: ErrRevoked.
func (a *App) Point(ctx context.Context, p policy.Principal, refs []PointRef) ([]Found, error) {
	if !p.Person() {
		return nil, ErrWrongPrincipal
	}
	topics := []string{"account:" + p.Account, "installation:" + p.Installation}
	for _, ref := range refs {
		if _, err := ownAccount(p, store.KindThread, ref.Scope.Thread); err == nil {
			topics = append(topics, "thread:"+ref.Scope.Thread)
		}
	}
	var found []Found
	err := a.hub.Tail(ctx, pointWait, topics, func() (reached bool, err error) {
		err = a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
			reached, err = reachedAll(tx, refs)
			if err == nil {
				found, err = a.find(tx, refs)
			}
			return err
		})
		return reached, err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// reachedAll reports whether waiting could not bring more of what was asked.
func reachedAll(tx *store.Read, refs []PointRef) (bool, error) {
	for _, ref := range refs {
		err := scopeExists(tx, ref.Scope)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		v, err := tx.VersionOf(ref.Scope, ref.Key)
		if err != nil || v < ref.Min {
			return false, err
		}
	}
	return true, nil
}

// find reads entities as they stand, by scope in the order of first mention.
func (a *App) find(tx *store.Read, refs []PointRef) ([]Found, error) {
	var scopes []changelog.Scope
	keys := map[changelog.Scope][]changelog.Key{}
	for _, ref := range refs {
		if !slices.Contains(scopes, ref.Scope) {
			scopes = append(scopes, ref.Scope)
		}
		keys[ref.Scope] = append(keys[ref.Scope], ref.Key)
	}
	out := make([]Found, len(scopes))
	for i, scope := range scopes {
		out[i] = Found{Scope: scope, Epoch: tx.Epoch()}
		err := scopeExists(tx, scope)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if out[i].Put, err = tx.Living(scope, keys[scope]); err != nil {
			return nil, err
		}
		pos, err := tx.AsOf(scope)
		if err != nil {
			return nil, err
		}
		out[i].AsOf = a.stamps.Stamp(tx.Account(), scope, pos)
	}
	return out, nil
}
