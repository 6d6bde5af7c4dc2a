// Package storetest is a fixture.
package storetest

import (
	_ "github.com/beckon-dev/beckon/server/store"
	_ "github.com/beckon-dev/beckon/server/store/memstore"
)
