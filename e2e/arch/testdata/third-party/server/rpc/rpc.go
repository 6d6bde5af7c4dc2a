// Package rpc is a fixture.
package rpc

import (
	_ "connectrpc.com/connect/v2"
	_ "google.golang.org/protobuf/proto"
)
