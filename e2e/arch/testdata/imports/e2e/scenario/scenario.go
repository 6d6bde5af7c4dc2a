// Package scenario is a fixture.
package scenario

import (
	_ "github.com/beckon-dev/beckon/push/plan"
	_ "github.com/beckon-dev/beckon/server"
	_ "github.com/beckon-dev/beckon/server/store/storetest"
)
