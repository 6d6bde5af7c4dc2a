// Package outbox is a fixture again.
package outbox
