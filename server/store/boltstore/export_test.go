package boltstore

import "go.etcd.io/bbolt"

// Classify is classify, for the texts no test can make a disk say.
var Classify = classify

// OpenFormat opens a folder as a release would whose layout has this version.
func OpenFormat(dir string, version int, steps ...func(*bbolt.Tx) error) (*Engine, error) {
	return open(dir, Options{}, format{version: version, steps: steps})
}
