//go:build !failpoints && linux

package app

var disarmed int
