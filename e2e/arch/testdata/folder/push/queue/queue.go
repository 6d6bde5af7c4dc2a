// Package queue is a fixture.
package queue
