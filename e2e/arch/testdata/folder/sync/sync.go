// Package sync is a fixture.
package sync
