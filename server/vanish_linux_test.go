package server_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"golang.org/x/sys/unix"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server"
	"github.com/beckon-dev/beckon/server/policy"
)

const (
	// vanishVariable is set in the process that has a network of its own.
	vanishVariable = "BECKON_TEST_VANISH"

	// The two ends of the cable.
	serverAddress, phoneAddress = "10.77.0.1", "10.77.0.2"
	// noticed is how long the server may take, of R26.
	noticed = 25 * time.Second
	// nobody is the hardware address of no machine on the cable: packets to it
	// leave and arrive nowhere, and neither end is told.
	nobody = "02:00:00:00:00:99"
)

// TestWatch_PeerVanishes: a phone whose packets are dropped in both directions,
// without any goodbye, is noticed by the server in the time that R26 says, and
// what its stream held is free for the next one. A proxy that swallows bytes
// cannot show this, since it acknowledges them; so the phone is at the other end
// of a cable between two network namespaces, and the cable is what fails.
func TestWatch_PeerVanishes(t *testing.T) {
	t.Parallel()
	if os.Getenv(vanishVariable) == "" {
		inNamespace(t)
		return
	}
	c, pair := newCable(t), newCert(t)
	var open []*vanishing
	for _, w := range ways() {
		// Nothing is under way when it vanishes, or something soon is.
		for _, beat := range []time.Duration{10 * time.Minute, 4 * time.Second} {
			open = append(open, newVanishing(t, c, w, pair, beat))
		}
	}
	c.cut(t)
	cut := time.Now()
	for _, v := range open {
		t.Run(fmt.Sprintf("%s, a beat every %v", v.way.name, v.beat), func(t *testing.T) {
			t.Parallel()
			v.isFreed(t, cut)
		})
	}
}

// inNamespace runs the test in a process that may set up networks, which needs
// no rights outside of it.
func inNamespace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Fatal("cannot run: install 'ip' (package iproute2): ", err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWatch_PeerVanishes$", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), vanishVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOSPC):
		t.Skip("cannot run: this machine lets nobody make network namespaces: ", err)
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	default:
		t.Logf("\n%s", out)
	}
}

// cable joins this namespace to another one.
type cable struct {
	// far runs functions on a thread that is in the other namespace; what they
	// open stays there.
	far chan func()

	mu    sync.Mutex
	conns []net.Conn
}

func newCable(t *testing.T) *cable {
	t.Helper()
	c := &cable{far: make(chan func())}
	t.Cleanup(func() {
		for _, conn := range c.conns {
			_ = conn.Close() // nothing that comes could end them
		}
		close(c.far)
	})
	thread := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Error("a second namespace: ", err)
		}
		thread <- unix.Gettid()
		for fn := range c.far {
			fn()
		}
	}()
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", strconv.Itoa(<-thread))
	ip(t, "addr", "add", serverAddress+"/24", "dev", "near")
	ip(t, "link", "set", "near", "up")
	c.there(func() {
		ip(t, "addr", "add", phoneAddress+"/24", "dev", "far")
		ip(t, "link", "set", "far", "up")
	})
	return c
}

func (c *cable) there(fn func()) {
	done := make(chan struct{})
	c.far <- func() { defer close(done); fn() }
	<-done
}

// dial connects from the far end.
func (c *cable) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	c.there(func() { conn, err = (&net.Dialer{}).DialContext(ctx, network, address) })
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.conns = append(c.conns, conn)
	}
	return conn, err
}

// cut lets every packet go astray, in both directions.
func (c *cable) cut(t *testing.T) {
	t.Helper()
	ip(t, "neigh", "replace", phoneAddress, "lladdr", nobody, "dev", "near", "nud", "permanent")
	c.there(func() { ip(t, "neigh", "replace", serverAddress, "lladdr", nobody, "dev", "far", "nud", "permanent") })
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", args...).CombinedOutput(); err != nil {
		t.Errorf("ip %v: %v: %s", args, err, out)
	}
}

// way is one way to reach a server through the cable or beside it.
type way struct {
	name   string
	choose func(*http.Protocols)
}

func ways() []way {
	return []way{
		{"h1", func(p *http.Protocols) { p.SetHTTP1(true) }},
		{"h2", func(p *http.Protocols) { p.SetHTTP2(true) }},
	}
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (w way) transport(t *testing.T, s *running, pair cert, dial dialer) connect.Transport {
	t.Helper()
	protocols := new(http.Protocols)
	w.choose(protocols)
	tr := &http.Transport{Protocols: protocols, DialContext: dial, TLSClientConfig: &tls.Config{
		RootCAs: pair.roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12,
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return connecthttp.NewTransport(&http.Client{Transport: tr}, s.URL())
}

// vanishing is a server with one phone that watches through the cable.
type vanishing struct {
	way  way
	beat time.Duration
	s    *running
	me   phone
	at   *v1.At
}

func newVanishing(t *testing.T, c *cable, w way, pair cert, beat time.Duration) *vanishing {
	t.Helper()
	limits := policy.BenchLimits()
	limits.Beat, limits.StreamsPerDevice = beat, 1
	s := start(t, func(cfg *server.Config) {
		cfg.Listen, cfg.Limits = serverAddress+":0", &limits
		cfg.TLSCert, cfg.TLSKey = pair.certFile, pair.keyFile
	})
	v := &vanishing{way: w, beat: beat, s: s}
	v.me = claim(t, s, w.transport(t, s, pair, (&net.Dialer{}).DialContext))
	v.at = v.me.level(t, wholeAccount())
	away := v.me
	away.api = as(w.transport(t, s, pair, c.dial), v.me.tokens.GetAccessToken())
	away.watch(t, v.at)
	if n := s.App().OpenStreams(); n != 1 {
		t.Fatalf("%d streams are open", n)
	}
	return v
}

// isFreed waits until the server has noticed, and lets the device, which may
// have one stream, open another.
func (v *vanishing) isFreed(t *testing.T, cut time.Time) {
	t.Helper()
	for look := time.NewTicker(20 * time.Millisecond); v.s.App().OpenStreams() > 0; <-look.C {
		if time.Since(cut) > noticed {
			t.Fatalf("not noticed after %v", noticed)
		}
	}
	t.Logf("noticed after %v", time.Since(cut).Round(time.Millisecond))
	v.me.watch(t, v.at)
}
