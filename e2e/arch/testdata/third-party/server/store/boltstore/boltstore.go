// Package boltstore is a fixture.
package boltstore

import (
	_ "go.etcd.io/bbolt"
)
