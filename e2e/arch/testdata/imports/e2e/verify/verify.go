// Package verify is a fixture.
package verify

import (
	_ "github.com/beckon-dev/beckon/push/emulator/apns"
	_ "github.com/beckon-dev/beckon/push/outbox"
	_ "github.com/beckon-dev/beckon/push/plan"
	_ "github.com/beckon-dev/beckon/sync/off"
)
