package apns

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/sideshow/apns2"

	"github.com/beckon-dev/beckon/push"
)

// Config is one app team's way to APNs.
type Config struct {
	// KeyID and TeamID name the provider key at Apple; Key signs (P-256).
	KeyID  string
	TeamID string
	Key    *ecdsa.PrivateKey
	// Hosts are the base URLs by environment. Nil means Apple's own two; an
	// environment that is not listed cannot be sent to.
	Hosts map[push.Env]string
	// RootCAs replaces the system's roots, for emulators. Nil keeps them.
	RootCAs *x509.CertPool
	// Connections per environment; 0 means 1, which carries 1,000 streams.
	Connections int
	// Rotate is the age at which a provider token is replaced; 0 means 48
	// minutes. Apple refuses tokens older than 60 minutes and replacements
	// within 20 ("Establishing a token-based connection to APNs").
	Rotate time.Duration
	// ReadIdle and PingTimeout find a dead connection: ping after so long
	// without a frame, and close when the ping is not answered. 0 means 10 s
	// and 5 s.
	ReadIdle    time.Duration
	PingTimeout time.Duration
	// IdleClose closes a connection nobody used for so long; 0 means 10
	// minutes. Apple treats rapid reconnection as an attack, so not less.
	IdleClose time.Duration
	// Dial replaces the way to the host below TLS, for networks that are none;
	// nil means TCP. It has to end with ctx, which bounds the connect.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Now is the clock of tokens; nil means time.Now.
	Now func() time.Time
}

// ErrConfig answers a configuration that could not work.
var ErrConfig = errors.New("apns: configuration")

const (
	defaultRotate = 48 * time.Minute
	minRotate     = 20 * time.Minute
	maxRotate     = 55 * time.Minute

	defaultReadIdle    = 10 * time.Second
	defaultPingTimeout = 5 * time.Second
)

func (c Config) withDefaults() (Config, error) {
	if c.Hosts == nil {
		c.Hosts = map[push.Env]string{
			push.EnvSandbox:    apns2.HostDevelopment,
			push.EnvProduction: apns2.HostProduction,
		}
	}
	c.Connections = max(c.Connections, 1)
	c.Rotate = orDefault(c.Rotate, defaultRotate)
	c.ReadIdle = orDefault(c.ReadIdle, defaultReadIdle)
	c.PingTimeout = orDefault(c.PingTimeout, defaultPingTimeout)
	c.IdleClose = orDefault(c.IdleClose, 10*time.Minute)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: tcpKeepAlive}).DialContext
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	switch {
	case c.KeyID == "" || c.TeamID == "":
		return c, fmt.Errorf("%w: key id and team id must be set", ErrConfig)
	case c.Key == nil || c.Key.Curve != elliptic.P256():
		return c, fmt.Errorf("%w: the key must be a P-256 key", ErrConfig)
	case c.Rotate < minRotate || c.Rotate > maxRotate:
		return c, fmt.Errorf("%w: tokens rotate after 20 to 55 minutes", ErrConfig)
	}
	for env, host := range c.Hosts {
		u, err := url.Parse(host)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" {
			return c, fmt.Errorf("%w: the host of %s must be https:// and a name", ErrConfig, env)
		}
	}
	return c, nil
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

// ParseKey reads the PEM of a .p8 file as Apple hands it out. The error never
// quotes the file.
func ParseKey(p8 []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(p8)
	if block == nil {
		return nil, fmt.Errorf("%w: the key file is not PEM", ErrConfig)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: the key file is not PKCS 8", ErrConfig)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key file does not hold a P-256 key", ErrConfig)
	}
	return key, nil
}

// Provider is push.Provider for APNs. It is safe for concurrent use; Close
// ends its connections.
type Provider struct {
	slots map[push.Env][]*slot
	next  atomic.Uint64
}

var _ push.Provider = (*Provider)(nil)

// New checks the configuration and connects to nobody yet. The error is an
// ErrConfig.
func New(c Config) (*Provider, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Provider{slots: make(map[push.Env][]*slot, len(c.Hosts))}
	for env, host := range c.Hosts {
		dials := newDials(c.Connections)
		for range c.Connections {
			p.slots[env] = append(p.slots[env], newSlot(c, host, dials))
		}
	}
	return p, nil
}

// Close ends all connections as soon as the sends on them have returned. A
// later Send opens new ones.
func (p *Provider) Close() {
	for _, slots := range p.slots {
		for _, s := range slots {
			s.close()
		}
	}
}
