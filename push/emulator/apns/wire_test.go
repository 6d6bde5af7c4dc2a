package apns_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/beckon-dev/beckon/push/emulator/apns"
)

// wire is a client that speaks frames, to see what an HTTP library hides.
type wire struct {
	t      testing.TB
	framer *http2.Framer
	nc     net.Conn
}

func (b *bench) dial() *wire {
	b.t.Helper()
	cfg := b.tls()
	cfg.NextProtos = []string{"h2"}
	nc, err := tls.Dial("tcp", b.host(apns.Sandbox), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = nc.Close() })
	if err := nc.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		b.t.Fatal(err)
	}
	w := &wire{t: b.t, nc: nc, framer: http2.NewFramer(nc, nc)}
	w.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := nc.Write([]byte(http2.ClientPreface)); err != nil {
		b.t.Fatal(err)
	}
	w.must(w.framer.WriteSettings())
	return w
}

func (b *bench) host(env apns.Env) string {
	u, err := url.Parse(b.URL(env))
	if err != nil {
		b.t.Fatal(err)
	}
	return u.Host
}

func (w *wire) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// next reads up to a frame that is worth telling and tells it in words.
func (w *wire) next() string {
	w.t.Helper()
	for {
		f, err := w.framer.ReadFrame()
		w.must(err)
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if n, ok := f.Value(http2.SettingMaxConcurrentStreams); ok {
				w.must(w.framer.WriteSettingsAck())
				return "streams " + http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: n}.String()
			}
		case *http2.RSTStreamFrame:
			return "reset " + f.ErrCode.String()
		case *http2.MetaHeadersFrame:
			return "status " + f.PseudoValue("status")
		case *http2.PingFrame:
			return "pong " + string(f.Data[:])
		case *http2.GoAwayFrame:
			if reason := f.DebugData(); len(reason) > 0 {
				return fmt.Sprintf("goaway %s last %d %s", f.ErrCode, f.LastStreamID, reason)
			}
			return "goaway " + f.ErrCode.String()
		}
	}
}

func (w *wire) want(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		if got := w.next(); got != line {
			w.t.Fatalf("next frame = %q, want %q", got, line)
		}
	}
}

func (w *wire) headers(id uint32, p *push, end bool, extra ...hpack.HeaderField) {
	w.t.Helper()
	fields := []hpack.HeaderField{
		{Name: ":method", Value: p.method}, {Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: "localhost"}, {Name: ":path", Value: p.path},
	}
	for name, values := range p.header {
		fields = append(fields, hpack.HeaderField{Name: name, Value: values[0]})
	}
	w.must(w.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: literal(w.t, append(fields, extra...)), EndHeaders: true, EndStream: end,
	}))
}

// literal encodes fields without touching the dynamic table, so that a test need
// not keep an encoder in step.
func literal(t testing.TB, fields []hpack.HeaderField) []byte {
	t.Helper()
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for _, f := range fields {
		f.Sensitive = true
		if err := enc.WriteField(f); err != nil {
			t.Fatal(err)
		}
	}
	return block.Bytes()
}

const (
	oneStream   = "streams [MAX_CONCURRENT_STREAMS = 1]"
	manyStreams = "streams [MAX_CONCURRENT_STREAMS = 1000]"
)

func TestWire_OneStreamUntilTheFirstValidToken(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	w := b.dial()
	p := b.good()
	w.want(oneStream)
	w.headers(1, p, false)
	w.headers(3, p, false)
	w.want("reset REFUSED_STREAM")

	// A refused provider token does not lift the limit.
	bad := b.good()
	bad.set("authorization", "bearer x")
	w.must(w.framer.WriteRSTStream(1, http2.ErrCodeCancel))
	w.headers(5, bad, true)
	w.want("status 403")
	w.headers(7, p, false)
	w.headers(9, p, false)
	w.want("reset REFUSED_STREAM")

	// A valid one does, even if the push is refused for something else.
	w.must(w.framer.WriteData(7, true, nil))
	w.want(manyStreams, "status 400")
	for id := uint32(11); id < 11+2*1000; id += 2 {
		w.headers(id, p, false)
	}
	w.headers(2011, p, false)
	w.want("reset REFUSED_STREAM")
	w.must(w.framer.WriteData(1001, true, []byte(p.body)))
	w.want("status 200")
	w.headers(2013, p, false)
	w.must(w.framer.WritePing(false, [8]byte{'s', 't', 'i', 'l', 'l', ' ', 'o', 'k'}))
	w.want("pong still ok")

	got := b.Connections()
	want := []apns.Connection{{Number: 1, Env: apns.Sandbox, Open: true, Streams: 1000, Opened: 1004, Refused: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWire_ProtocolFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*bench, *wire)
		want string
	}{
		"even stream id": {
			func(b *bench, w *wire) { w.headers(2, b.good(), false) }, "goaway PROTOCOL_ERROR",
		},
		"data on a stream never opened": {
			func(_ *bench, w *wire) { w.must(w.framer.WriteData(1, true, []byte("x"))) }, "goaway PROTOCOL_ERROR",
		},
		"content-length that is not true": {
			func(b *bench, w *wire) {
				w.headers(1, b.good(), false, hpack.HeaderField{Name: "content-length", Value: "3"})
				w.must(w.framer.WriteData(1, true, []byte("four")))
			}, "reset PROTOCOL_ERROR",
		},
		"headers too large": {
			func(b *bench, w *wire) {
				p := b.good()
				p.set("x-large", strings.Repeat("x", 15<<10))
				p.set("x-larger", strings.Repeat("x", 900))
				p.set("x-largest", strings.Repeat("x", 100))
				w.headers(1, p, false)
			}, "reset PROTOCOL_ERROR",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, apns.Config{})
			w := b.dial()
			w.want(oneStream)
			tc.do(b, w)
			w.want(tc.want)
			if n := len(b.Requests()); n != 0 {
				t.Errorf("%d requests were judged", n)
			}
		})
	}
}

func TestTLS_OnlyHTTP2(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	for name, protocols := range map[string][]string{"http/1.1": {"http/1.1"}, "no ALPN": nil} {
		cfg := b.tls()
		cfg.NextProtos = protocols
		nc, err := tls.Dial("tcp", b.host(apns.Sandbox), cfg)
		if err == nil {
			_ = nc.SetDeadline(time.Now().Add(time.Minute))
			_, _ = nc.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"))
			_, err = nc.Read(make([]byte, 1))
			_ = nc.Close()
		}
		var timeout net.Error
		if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s: got %v, want the connection refused", name, err)
		}
	}
}

func TestTLS_OldVersionsAndUnknownRootsFail(t *testing.T) {
	t.Parallel()
	b := start(t, apns.Config{})
	old := b.tls()
	old.NextProtos, old.MinVersion, old.MaxVersion = []string{"h2"}, tls.VersionTLS10, tls.VersionTLS11
	if nc, err := tls.Dial("tcp", b.host(apns.Sandbox), old); err == nil {
		_ = nc.Close()
		t.Error("TLS 1.1 was accepted")
	}
	res, err := (&http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true}}).Get(b.URL(apns.Production))
	if err == nil {
		_ = res.Body.Close()
		t.Error("a client without the CA got an answer")
	}
}

func TestStart_Addresses(t *testing.T) {
	t.Parallel()
	if _, err := apns.Start(t.Context(), apns.Config{SandboxAddr: "0.0.0.0:0"}); !errors.Is(err, apns.ErrNotLoopback) {
		t.Errorf("error = %v, want ErrNotLoopback", err)
	}
	b := start(t, apns.Config{})
	if _, err := apns.Start(t.Context(), apns.Config{ProductionAddr: b.host(apns.Sandbox)}); err == nil {
		t.Error("an address in use was taken")
	}
	if b.URL(apns.Sandbox) == b.URL(apns.Production) {
		t.Error("both environments share an address")
	}
}

func TestStart_CAFromFiles(t *testing.T) {
	t.Parallel()
	certFile, keyFile := writeCA(t, true)
	b := start(t, apns.Config{CACertFile: certFile, CAKeyFile: keyFile})
	want, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(b.CAPEM())); diff != "" {
		t.Error(diff)
	}
	b.sender().want(b.good(), 200, "")

	leaf, leafKey := writeCA(t, false)
	if _, err := apns.Start(t.Context(), apns.Config{CACertFile: leaf, CAKeyFile: leafKey}); err == nil {
		t.Error("a certificate that is no CA was taken")
	}
	missing := filepath.Join(t.TempDir(), "missing")
	if _, err := apns.Start(t.Context(), apns.Config{CACertFile: missing, CAKeyFile: missing}); err == nil {
		t.Error("a missing file was taken")
	}
}

func TestClose_EndsWithTheContextToo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := apns.Start(ctx, apns.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	s.Close()
	s.Close()
	if nc, err := net.Dial("tcp", strings.TrimPrefix(s.URL(apns.Sandbox), "https://")); err == nil {
		_ = nc.Close()
		t.Error("still listening after Close")
	}
}
