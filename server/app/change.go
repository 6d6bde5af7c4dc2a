package app

import (
	"context"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// change is a verb made ready: all that is left is its one transaction. A call
// and a mutation of a client's queue run the same one, so there is no second
// way to do anything.
type change[R any] struct {
	account string
	// point is a place between commit and wakes where tests let the process
	// die.
	point string
	// run may run again and then overwrites all it said.
	run func(*store.Tx) (R, error)
	// err refuses the verb before its transaction.
	err error
}

// refused is a verb that does not get as far as its transaction.
func refused[R any](err error) change[R] { return change[R]{err: err} }

// commit carries a change out.
func commit[R any](ctx context.Context, a *App, c change[R]) (R, error) {
	var result R
	if c.err != nil {
		return result, c.err
	}
	err := a.updateAt(ctx, c.account, c.point, func(tx *store.Tx) error {
		var err error
		result, err = c.run(tx)
		return err
	})
	return result, err
}

// onDevice is a change of a person's own account, with the calling device as it
// stands.
func onDevice[R any](p policy.Principal, run func(*store.Tx, store.Installation) (R, error)) change[R] {
	if !p.Person() {
		return refused[R](ErrWrongPrincipal)
	}
	return change[R]{account: p.Account, run: func(tx *store.Tx) (R, error) {
		inst, err := device(tx.Read, p)
		if err != nil {
			var none R
			return none, err
		}
		return run(tx, inst)
	}}
}
