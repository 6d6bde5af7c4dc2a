// Package app is a fixture.
package app

import (
	_ "github.com/beckon-dev/beckon/push/worker"
	_ "github.com/beckon-dev/beckon/server/auth"
	_ "github.com/beckon-dev/beckon/server/policy"
	_ "github.com/beckon-dev/beckon/server/store/memstore"
)
