// Package server is a fixture.
package server

import (
	_ "github.com/beckon-dev/beckon/clients/web"
	_ "github.com/beckon-dev/beckon/push/emulator/apns"
	_ "github.com/beckon-dev/beckon/server/app"
	_ "github.com/beckon-dev/beckon/server/store/boltstore"
	_ "github.com/beckon-dev/beckon/server/store/memstore"
)
