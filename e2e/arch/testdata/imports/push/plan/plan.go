// Package plan is a fixture.
package plan

import (
	_ "github.com/beckon-dev/beckon/push"
	_ "github.com/beckon-dev/beckon/push/outbox"
)
