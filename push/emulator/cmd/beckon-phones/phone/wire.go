package phone

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connecthttp"
	"connectrpc.com/connect/v2/connectproto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

var (
	// ErrServer answers an address that is no server's, or a plain http:// one
	// on another machine.
	ErrServer = errors.New("phone: not the address of a server")
	// ErrNotPaired answers whatever needs an account.
	ErrNotPaired = errors.New("phone: not paired")
	// ErrOffline answers a call on a phone without a network.
	ErrOffline = errors.New("phone: no network")
)

// callLimit ends one attempt of a call that does not wait.
const callLimit = 10 * time.Second

// server is the way to one Beckon server.
type server struct {
	base      string
	transport *http.Transport
	http      *http.Client

	addresses beckonv1connect.AddressServiceClient
	decisions beckonv1connect.DecisionServiceClient
	devices   beckonv1connect.InstallationServiceClient
	pairing   beckonv1connect.PairingServiceClient
	sync      beckonv1connect.SyncServiceClient
	threads   beckonv1connect.ThreadServiceClient
	tokens    beckonv1connect.TokenServiceClient
}

// radio sends what an app sends while its phone has a network.
type radio struct {
	online func() bool
	next   http.RoundTripper
}

// RoundTrip makes a request, or answers ErrOffline.
func (r radio) RoundTrip(req *http.Request) (*http.Response, error) {
	if !r.online() {
		return nil, ErrOffline
	}
	return r.next.RoundTrip(req)
}

// dial prepares the way; nothing is sent yet, and later only while online. The
// error is ErrServer.
func dial(base, caPEM string, online func() bool) (*server, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname()))) {
		return nil, ErrServer
	}
	s := &server{
		base: strings.TrimRight(base, "/"),
		transport: &http.Transport{
			DialContext:       (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			ForceAttemptHTTP2: true, IdleConnTimeout: 30 * time.Second,
		},
	}
	if caPEM != "" {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM([]byte(caPEM)) {
			return nil, fmt.Errorf("%w: no certificate in its CA file", ErrServer)
		}
		s.transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	s.http = &http.Client{Transport: radio{online, s.transport}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a credential goes to the named server only
	}}
	c := connect.NewClient(connecthttp.NewTransport(s.http, s.base, connecthttp.WithCompressMinBytes(1024), connecthttp.WithReadMaxBytes(4<<20)))
	s.addresses = beckonv1connect.NewAddressServiceClient(c)
	s.decisions = beckonv1connect.NewDecisionServiceClient(c)
	s.devices = beckonv1connect.NewInstallationServiceClient(c)
	s.pairing = beckonv1connect.NewPairingServiceClient(c)
	s.sync = beckonv1connect.NewSyncServiceClient(c)
	s.threads = beckonv1connect.NewThreadServiceClient(c)
	s.tokens = beckonv1connect.NewTokenServiceClient(c)
	return s, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func (s *server) close() {
	if s != nil {
		s.transport.CloseIdleConnections()
	}
}

// reasonOf gives the stable word of a refusal, or "".
func reasonOf(err error) string { return infoOf(err).GetReason() }

// infoOf gives what a refusal says for programs; nil where it is none.
func infoOf(err error) *v1.ErrorInfo {
	ce, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return nil
	}
	for _, detail := range ce.Details() {
		message, err := connectproto.UnmarshalErrorDetail(detail)
		if info, ok := message.(*v1.ErrorInfo); err == nil && ok {
			return info
		}
	}
	return nil
}

// unanswered reports that no server has judged the call, so that the same call
// may be sent again.
func unanswered(err error) bool {
	ce, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return err != nil
	}
	// A dead server has no reliable code; what it said itself is a verdict.
	return !ce.IsRemote() || ce.Code() == connect.CodeUnavailable
}

// insist repeats fn until a server has judged it or ctx ends.
func insist(ctx context.Context, fn func(context.Context) error) error {
	return insistFor(ctx, callLimit, fn)
}

// insistFor is insist for calls that take up to limit each.
func insistFor(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	wait := 50 * time.Millisecond
	for {
		attempt, cancel := context.WithTimeout(ctx, limit)
		err := fn(attempt)
		cancel()
		if err == nil || ctx.Err() != nil || !unanswered(err) {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		wait = min(2*wait, time.Second)
	}
}
