package admin_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/server/admin"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// verbs answers as the server does, and notes what was asked.
type verbs struct {
	asked app.CreateClaimLink
	added int
	err   error
}

func (v *verbs) CreateClaimLink(_ context.Context, p policy.Principal, c app.CreateClaimLink) (app.ClaimLink, error) {
	v.asked = c
	return v.link(p)
}

func (v *verbs) AddAccount(_ context.Context, p policy.Principal) (app.ClaimLink, error) {
	v.added++
	return v.link(p)
}

func (v *verbs) link(p policy.Principal) (app.ClaimLink, error) {
	if p.Kind != policy.Operator {
		return app.ClaimLink{}, app.ErrWrongPrincipal
	}
	secret, err := credential.New(rand.Reader, credential.KindOwner)
	return app.ClaimLink{Account: "acc_1", Secret: secret, ExpireTime: time.Unix(1, 0)}, errors.Join(v.err, err)
}

func (*verbs) Claimed(context.Context) bool { return true }
func (*verbs) ServerID() string             { return "srv_1" }

// serve runs the operator's door.
func serve(t *testing.T, v *verbs) (*admin.Client, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admin.sock")
	l, err := admin.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: admin.Handler(v, "https://h.example", nil), ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	c := admin.Dial(path)
	t.Cleanup(func() {
		c.Close()
		_ = s.Close() // the socket's name is all it could complain about
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error("the door ended with", err)
		}
	})
	return c, path
}

func TestLinks(t *testing.T) {
	t.Parallel()
	v := &verbs{}
	c, _ := serve(t, v)
	link, err := c.Claim(t.Context(), "acc_1")
	if err != nil || link.Account != "acc_1" || !strings.HasPrefix(link.URL, "https://h.example/claim#bk_own_") {
		t.Errorf("claim: %+v, %v", link, err)
	}
	if v.asked != (app.CreateClaimLink{Account: "acc_1"}) {
		t.Errorf("claim asked %+v", v.asked)
	}
	if _, err := c.Reset(t.Context(), ""); err != nil || v.asked != (app.CreateClaimLink{Reset: true}) {
		t.Errorf("reset asked %+v, %v", v.asked, err)
	}
	if _, err := c.AddAccount(t.Context()); err != nil || v.added != 1 {
		t.Errorf("%d accounts, %v", v.added, err)
	}
	status, err := c.Status(t.Context())
	if err != nil || status != (admin.Status{ServerID: "srv_1", URL: "https://h.example", Claimed: true}) {
		t.Errorf("status: %+v, %v", status, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, want := range []struct {
		err  error
		text string
	}{
		{app.ErrClaimed, "reset"}, {app.ErrNoAccount, "name one"}, {store.ErrNotFound, "no such account"},
		{store.ErrDiskFull, "disk"}, {errors.New("row 17 is broken"), "log"},
	} {
		c, _ := serve(t, &verbs{err: want.err})
		_, err := c.Claim(t.Context(), "")
		if !errors.Is(err, admin.ErrRefused) || !strings.Contains(err.Error(), want.text) || strings.Contains(err.Error(), "17") {
			t.Errorf("%v came as %v", want.err, err)
		}
	}
}

func TestTheSocketIsPrivate(t *testing.T) {
	t.Parallel()
	_, path := serve(t, &verbs{})
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("socket is %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestASocketLeftByADeadServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "admin.sock")
	first, err := admin.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := admin.Listen(t.Context(), path) // as after a kill
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket outlived its server")
	}
	_ = first.Close() // its name is gone already
}

// TestNobodyThere: the operator reads which socket it was and what to do.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	dead := filepath.Join(t.TempDir(), "admin.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as a killed server leaves it
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dead, filepath.Join(t.TempDir(), "admin.sock")} {
		c := admin.Dial(path)
		_, err := c.Status(t.Context())
		c.Close()
		if err == nil || errors.Is(err, admin.ErrRefused) || strings.Contains(err.Error(), "http://") {
			t.Fatal("without a server:", err)
		}
		for _, part := range []string{"is the server running?", path, "'beckond serve'"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in %q", part, err)
			}
		}
	}
}
