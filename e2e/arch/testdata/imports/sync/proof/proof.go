// Package proof is a fixture.
package proof

import (
	_ "github.com/beckon-dev/beckon/sync/changelog"
	_ "github.com/beckon-dev/beckon/sync/off"
)
