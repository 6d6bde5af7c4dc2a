// Package worker is a fixture.
package worker

import (
	_ "github.com/beckon-dev/beckon/push/outbox"
	_ "github.com/beckon-dev/beckon/server/failpoint"
)
