//go:build failpoints

package app

var armed int
