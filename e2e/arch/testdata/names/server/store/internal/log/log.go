// Package log is a fixture.
package log
