// Package push is a fixture.
package push

import (
	_ "github.com/beckon-dev/beckon/e2e/stack"
	_ "github.com/beckon-dev/beckon/server/store"
	_ "github.com/beckon-dev/beckon/sync/task"
)
