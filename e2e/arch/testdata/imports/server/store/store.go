// Package store is a fixture.
package store

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	_ "github.com/beckon-dev/beckon/server/policy"
	_ "github.com/beckon-dev/beckon/sync/task"
)
