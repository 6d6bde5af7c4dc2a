package admin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

const socketMode = 0o600

// Listen opens the operator's socket. It takes the place of one that a killed
// server left; two servers cannot meet here, since each holds its data folder.
// The socket is never reachable by anybody else, not even for a moment: it is
// made in a folder of its own and then moved.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	private, err := os.MkdirTemp(filepath.Dir(path), ".s") // mode 0700
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	defer os.Remove(private) //nolint:errcheck // an empty folder
	made := filepath.Join(private, "s")
	var cfg net.ListenConfig
	l, err := cfg.Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("admin socket: %w", err)
	}
	if unix, ok := l.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // it would look for the name before the move
	}
	if err := os.Chmod(made, socketMode); err != nil {
		return nil, errors.Join(fmt.Errorf("admin socket: %w", err), l.Close(), os.Remove(made))
	}
	if err := os.Rename(made, path); err != nil {
		return nil, errors.Join(fmt.Errorf("admin socket: %w", err), l.Close(), os.Remove(made))
	}
	return &socket{Listener: l, path: path}, nil
}

// socket takes its name away when it closes.
type socket struct {
	net.Listener

	path string
}

// Close ends the listener and removes the socket.
func (s *socket) Close() error {
	err := s.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	return errors.Join(err, os.Remove(s.path))
}
