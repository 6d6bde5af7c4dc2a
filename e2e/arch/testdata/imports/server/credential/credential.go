// Package credential is a fixture.
package credential

import (
	_ "github.com/beckon-dev/beckon/server/policy"
	_ "github.com/beckon-dev/beckon/sync/proof"
)
