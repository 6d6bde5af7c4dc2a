// Package auth is a fixture.
package auth

import (
	_ "github.com/beckon-dev/beckon/server/app"
	_ "github.com/beckon-dev/beckon/server/rpc"
)
