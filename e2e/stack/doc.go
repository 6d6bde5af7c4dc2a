// Package stack starts what a story needs: the built binaries as processes that
// can be killed at any moment, and what they print as something to wait for
// without sleeping.
package stack
