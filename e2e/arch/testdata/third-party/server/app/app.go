// Package app is a fixture.
package app

import (
	_ "connectrpc.com/connect/v2"
	_ "example.org/new/thing"
	_ "github.com/golang-jwt/jwt/v5"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5"
	_ "go.etcd.io/bbolt"
	_ "log"
	_ "testing"
)
