// Package rpc is a fixture.
package rpc

import (
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/storage/v1"
	_ "github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
	_ "github.com/beckon-dev/beckon/server/app"
	_ "github.com/beckon-dev/beckon/server/auth"
)
