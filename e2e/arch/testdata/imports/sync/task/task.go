// Package task is a fixture.
package task

import (
	_ "github.com/beckon-dev/beckon/push"
	_ "github.com/beckon-dev/beckon/sync/decision"
	_ "github.com/beckon-dev/beckon/sync/off"
)
