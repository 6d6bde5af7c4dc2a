// Package boltstore is a fixture.
package boltstore

type options struct{ NoSync, NoFreelistSync bool }

func open() options { return options{NoSync: false} }
