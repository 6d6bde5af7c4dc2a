// Package task is a fixture.
package task
