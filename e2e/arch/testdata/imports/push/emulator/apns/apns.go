// Package apns is a fixture.
package apns

import (
	_ "github.com/beckon-dev/beckon/push"
	_ "github.com/beckon-dev/beckon/push/emulator/device"
	_ "github.com/beckon-dev/beckon/sync/proof"
)
