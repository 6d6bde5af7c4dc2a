// Package beckon is a fixture.
package beckon

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	_ "github.com/beckon-dev/beckon/sync/replica"
	_ "github.com/beckon-dev/beckon/sync/task"
)
