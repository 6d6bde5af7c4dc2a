// Package main is a fixture.
package main

import (
	_ "github.com/beckon-dev/beckon/clients/go"
	_ "github.com/beckon-dev/beckon/push/emulator/apns"
	_ "github.com/beckon-dev/beckon/server/app"
	_ "github.com/beckon-dev/beckon/sync/proof"
)
