//go:build !linux

package server

import "syscall"

// userTimeout does nothing where the system has no such option; keepalive and
// pings remain.
func userTimeout(_, _ string, _ syscall.RawConn) error { return nil }
