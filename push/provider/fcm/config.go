package fcm

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"time"

	firebase "firebase.google.com/go/v4"
	"firebase.google.com/go/v4/messaging"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"
	"google.golang.org/api/option"

	"github.com/beckon-dev/beckon/push"
)

// Config is one app team's way to FCM.
type Config struct {
	// ServiceAccount is the JSON key file as Google hands it out.
	ServiceAccount []byte
	// ProjectID is the Firebase project; empty means the one in the key file.
	ProjectID string
	// Endpoint replaces Google's base URL, up to and with the version; empty
	// keeps it. For emulators.
	Endpoint string
	// TokenURI replaces the token endpoint named in the key file. For emulators.
	TokenURI string
	// RootCAs replaces the system's roots, for emulators. Nil keeps them.
	RootCAs *x509.CertPool
	// Connections is how many are opened at once at most; 0 means 8. Each
	// carries as many sends at once as the server admits streams, and one that
	// is full does not count any more.
	Connections int
	// ReadIdle and PingTimeout find a dead connection: ping after so long
	// without a frame, and close when the ping is not answered. 0 means 10 s
	// and 5 s.
	ReadIdle    time.Duration
	PingTimeout time.Duration
	// IdleClose closes a connection nobody used for so long; 0 means 10 minutes.
	IdleClose time.Duration
	// TokenTimeout bounds the wait for an access token; 0 means 5 s.
	TokenTimeout time.Duration
	// Dial replaces the way to the hosts below TLS, for networks that are none;
	// nil means TCP. It has to end with ctx, which bounds the connect.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Now is the clock of deadlines and tokens; nil means time.Now.
	Now func() time.Time
}

// ErrConfig answers a configuration that could not work.
var ErrConfig = errors.New("fcm: configuration")

const (
	defaultEndpoint = "https://fcm.googleapis.com/v1"
	// scope is what sending needs and nothing more (Google: "Authorize send
	// requests").
	scope = "https://www.googleapis.com/auth/firebase.messaging"
)

// projectForm keeps what is pasted into a path from being more than a name.
var projectForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.:-]{0,62}$`)

func (c Config) withDefaults() (Config, *jwt.Config, error) {
	account, project, err := parseAccount(c.ServiceAccount)
	if err != nil {
		return c, nil, err
	}
	if c.ProjectID == "" {
		c.ProjectID = project
	}
	if c.Endpoint == "" {
		c.Endpoint = defaultEndpoint
	}
	if c.TokenURI != "" {
		account.TokenURL = c.TokenURI
	}
	if c.Connections <= 0 {
		c.Connections = 8
	}
	c.ReadIdle = orDefault(c.ReadIdle, 10*time.Second)
	c.PingTimeout = orDefault(c.PingTimeout, 5*time.Second)
	c.IdleClose = orDefault(c.IdleClose, 10*time.Minute)
	c.TokenTimeout = orDefault(c.TokenTimeout, 5*time.Second)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{KeepAlive: tcpKeepAlive}).DialContext
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	switch {
	case !projectForm.MatchString(c.ProjectID):
		return c, nil, fmt.Errorf("%w: the project id must be set, in lower case", ErrConfig)
	case !secureURL(c.Endpoint):
		return c, nil, fmt.Errorf("%w: the endpoint must be an https:// URL", ErrConfig)
	case !secureURL(account.TokenURL):
		return c, nil, fmt.Errorf("%w: the token endpoint must be an https:// URL", ErrConfig)
	}
	return c, account, nil
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d <= 0 {
		return fallback
	}
	return d
}

func secureURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// parseAccount reads a key file. The errors never quote it.
func parseAccount(file []byte) (*jwt.Config, string, error) {
	account, err := google.JWTConfigFromJSON(file, scope)
	if err != nil {
		return nil, "", fmt.Errorf("%w: the key file is not a service account's", ErrConfig)
	}
	var more struct {
		Project string `json:"project_id"`
	}
	if json.Unmarshal(file, &more) != nil || account.Email == "" {
		return nil, "", fmt.Errorf("%w: the key file names no account", ErrConfig)
	}
	block, _ := pem.Decode(account.PrivateKey)
	if block == nil {
		return nil, "", fmt.Errorf("%w: the key file holds no key", ErrConfig)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		parsed, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	if _, ok := parsed.(*rsa.PrivateKey); err != nil || !ok {
		return nil, "", fmt.Errorf("%w: the key file does not hold an RSA key", ErrConfig)
	}
	return account, more.Project, nil
}

// Provider is push.Provider for FCM. It is safe for concurrent use.
type Provider struct {
	now    func() time.Time
	client *messaging.Client
	tokens *tokens
	wire   *transport
	issuer *transport
}

var _ push.Provider = (*Provider)(nil)

// New checks the configuration and connects to nobody yet. The error is an
// ErrConfig.
func New(ctx context.Context, c Config) (*Provider, error) {
	c, account, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	p := &Provider{now: c.Now, wire: newTransport(c), issuer: newTransport(c)}
	p.tokens = newTokens(c, account, p.issuer.base)
	// A client given as a whole is used as it is: the kit adds no credentials to
	// it and looks for none. With a project it does not search for one either.
	hc := &http.Client{
		Transport:     p.wire,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	app, err := firebase.NewApp(ctx, &firebase.Config{ProjectID: c.ProjectID},
		option.WithHTTPClient(hc), option.WithEndpoint(c.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if p.client, err = app.Messaging(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return p, nil
}

// Close ends all connections. Call it after the last Send has returned; a Send
// on its way would end without an answer. A later one opens new connections.
func (p *Provider) Close() {
	p.wire.close()
	p.issuer.close()
}
