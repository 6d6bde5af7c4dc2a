// Package apns is a fixture.
package apns

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	_ "github.com/beckon-dev/beckon/push"
)
