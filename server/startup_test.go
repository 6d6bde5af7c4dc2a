package server_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/config"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
)

// refused tries to start a server on a database and gives the reason it did not.
func refused(t *testing.T, change func(*server.Config)) *server.StartError {
	t.Helper()
	out := &terminal{}
	cfg := server.Config{Config: config.Default(t.TempDir()), Terminal: out}
	cfg.Listen = "127.0.0.1:0"
	change(&cfg)
	err := server.Run(t.Context(), cfg)
	why, ok := errors.AsType[*server.StartError](err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	if out.String() != "" {
		t.Errorf("before it failed it printed %q", out)
	}
	if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "store: ") || strings.Contains(err.Error(), "credential: ") {
		t.Errorf("not plain: %q", err)
	}
	return why
}

// TestToldToEndWhileStarting: that is an end like any other, no failure.
func TestToldToEndWhileStarting(t *testing.T) {
	t.Parallel()
	out := &terminal{}
	cfg := server.Config{Config: config.Default(t.TempDir()), Terminal: out}
	cfg.Listen = "127.0.0.1:0"
	s, err := server.New(t.Context(), cfg)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	check(t, s.Run(ctx))
}

// TestBadCertificates: no claim link is shown by a server that cannot serve.
func TestBadCertificates(t *testing.T) {
	t.Parallel()
	good, other := newCert(t), newCert(t)
	none, empty := filepath.Join(t.TempDir(), "none.pem"), filepath.Join(t.TempDir(), "empty.pem")
	check(t, os.WriteFile(empty, nil, 0o600))
	broken := filepath.Join(t.TempDir(), "broken.pem")
	check(t, os.WriteFile(broken, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0o600))
	for name, c := range map[string]struct{ cert, key, flag, file, problem string }{
		"no certificate":  {none, good.keyFile, "--tls-cert", none, "no such file or directory"},
		"no key":          {good.certFile, none, "--tls-key", none, "no such file or directory"},
		"empty":           {empty, good.keyFile, "--tls-cert", empty, "holds no certificate in PEM"},
		"broken":          {broken, good.keyFile, "--tls-cert", broken, "cannot be read"},
		"changed about":   {good.keyFile, good.certFile, "--tls-cert", good.keyFile, "holds no certificate in PEM"},
		"empty key":       {good.certFile, empty, "--tls-key", empty, "key"},
		"another's key":   {good.certFile, other.keyFile, "--tls-key", other.keyFile, "does not match"},
		"folder for file": {good.certFile, t.TempDir(), "--tls-key", "", "is a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := refused(t, func(cfg *server.Config) { cfg.TLSCert, cfg.TLSKey = c.cert, c.key })
			if why.Flag != c.flag || (c.file != "" && why.Value != c.file) || !strings.Contains(why.Problem, c.problem) {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}

// TestWhatIsTaken: port, folder and socket are named with their flags.
func TestWhatIsTaken(t *testing.T) {
	t.Parallel()
	var l net.ListenConfig
	port, err := l.Listen(t.Context(), "tcp", "127.0.0.1:0")
	check(t, err)
	defer func() { check(t, port.Close()) }()
	running := start(t, func(c *server.Config) { c.Engine = nil })
	for name, c := range map[string]struct {
		change  func(*server.Config)
		flag    string
		value   string
		problem string
		cause   error
	}{
		"port in use": {
			func(c *server.Config) { c.Listen = port.Addr().String() },
			"--listen", port.Addr().String(), "in use by another program", syscall.EADDRINUSE,
		},
		"no folder for the socket": {
			func(c *server.Config) { c.AdminSocket = filepath.Join(c.Data, "none", "s") },
			"--admin-socket", "", "no such file or directory", fs.ErrNotExist,
		},
		"long socket": {
			func(c *server.Config) {
				c.AdminSocket = filepath.Join(c.Data, strings.Repeat("x", 120), "s")
				check(t, os.Mkdir(filepath.Dir(c.AdminSocket), 0o700))
			},
			"--admin-socket", "", "too long for a socket", syscall.EINVAL,
		},
		"folder in use": {
			func(c *server.Config) { c.Data = running.cfg.Data },
			"--data", running.cfg.Data, "in use by another process", store.ErrLocked,
		},
		"no folder": {
			func(c *server.Config) { c.Data = os.DevNull },
			"--data", os.DevNull, "not a folder", syscall.ENOTDIR,
		},
		"master key for all": {
			func(c *server.Config) {
				check(t, os.WriteFile(filepath.Join(c.Data, "master.key"), make([]byte, 32), 0o600))
				check(t, os.Chmod(filepath.Join(c.Data, "master.key"), 0o644))
			},
			"--data", "", "only its owner can read", credential.ErrMasterMode,
		},
		"half a master key": {
			func(c *server.Config) {
				check(t, os.WriteFile(filepath.Join(c.Data, "master.key"), make([]byte, 16), 0o600))
			},
			"--data", "", "does not hold a key", credential.ErrMasterSize,
		},
	} {
		t.Run(name, func(t *testing.T) { // not in parallel: the server above has to run
			why := refused(t, c.change)
			if why.Flag != c.flag || (c.value != "" && why.Value != c.value) || !strings.Contains(why.Problem, c.problem) || !errors.Is(why, c.cause) {
				t.Errorf("the reason is %q", why)
			}
		})
	}
}

// TestNotPermitted needs a user whom folders can refuse.
func TestNotPermitted(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	closed := t.TempDir()
	check(t, os.Chmod(closed, 0o500))
	why := refused(t, func(c *server.Config) { c.Data = filepath.Join(closed, "data") })
	if why.Flag != "--data" || !strings.Contains(why.Problem, "permission denied") {
		t.Errorf("the reason is %q", why)
	}
}
