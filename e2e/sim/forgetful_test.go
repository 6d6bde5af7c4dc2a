package sim_test

import (
	"context"

	"github.com/beckon-dev/beckon/server/store"
)

// forgetful is an engine that loses what is written to one table: what the
// simulation is there to notice.
type forgetful struct{ store.Engine }

func (f forgetful) Update(ctx context.Context, account string, fn func(store.Writer) error) error {
	return f.Engine.Update(ctx, account, func(w store.Writer) error { return fn(losing{w}) })
}

type losing struct{ store.Writer }

func (l losing) Put(table store.Table, key, value []byte) error {
	if table == "signal" {
		return nil
	}
	return l.Writer.Put(table, key, value)
}
