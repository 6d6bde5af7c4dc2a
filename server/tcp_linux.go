package server

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// userTimeout ends a connection whose data nobody acknowledges.
func userTimeout(_, _ string, raw syscall.RawConn) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unacked.Milliseconds()))
	})
	return errors.Join(err, failed)
}
