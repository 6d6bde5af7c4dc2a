// Package boltstore is a fixture.
package boltstore

import (
	_ "github.com/beckon-dev/beckon/server/store"
	_ "github.com/beckon-dev/beckon/server/store/storetest"
	_ "github.com/beckon-dev/beckon/sync/task"
)
