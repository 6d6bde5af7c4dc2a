// Package httpapi is a fixture.
package httpapi

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	_ "github.com/beckon-dev/beckon/server/app"
)
