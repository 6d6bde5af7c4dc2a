// Package outbox is a fixture.
package outbox
