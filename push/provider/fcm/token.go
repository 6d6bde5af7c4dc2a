package fcm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/beckon-dev/beckon/push"
)

// earlyRenewal is how long before its end a token is replaced.
const earlyRenewal = 10 * time.Second

// tokens keeps the one access token all sends share. The kit's own source asks
// under a lock and without a deadline, so an issuer that does not answer would
// hold every send for ever; here one send asks, within a bound, and the others
// wait for its outcome as long as their own context allows.
type tokens struct {
	account *jwt.Config
	base    http.RoundTripper
	now     func() time.Time
	timeout time.Duration

	mu      sync.Mutex
	current *oauth2.Token
	asking  *question
}

// question is one request for a token. Its outcome may be read once done is
// closed.
type question struct {
	done  chan struct{}
	token *oauth2.Token
	err   error
}

func newTokens(c Config, account *jwt.Config, base http.RoundTripper) *tokens {
	return &tokens{account: account, base: base, now: c.Now, timeout: c.TokenTimeout}
}

// get returns a token that should be good, asking for one if there is none.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	if t.current != nil && (t.current.Expiry.IsZero() || t.current.Expiry.Sub(t.now()) > earlyRenewal) {
		defer t.mu.Unlock()
		return t.current.AccessToken, nil
	}
	q, first := t.asking, false
	if q == nil {
		q, first = &question{done: make(chan struct{}), err: errAbandoned}, true
		t.asking = q
	}
	t.mu.Unlock()
	if first {
		t.ask(ctx, q)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if q.err != nil {
		return "", q.err
	}
	return q.token.AccessToken, nil
}

var errAbandoned = errors.New("fcm: asking for a token was given up")

func (t *tokens) ask(ctx context.Context, q *question) {
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if q.err == nil {
			t.current = q.token
		}
		t.asking = nil
		close(q.done)
	}()
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	client := &http.Client{
		Transport:     &bound{ctx: ctx, base: t.base},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	q.token, q.err = t.account.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client)).Token()
	if q.err == nil && q.token.AccessToken == "" {
		q.err = errNoToken
	}
}

var errNoToken = errors.New("fcm: the issuer answered without a token")

// drop forgets a token FCM refused. When somebody has replaced it already, that
// replacement stands: a burst of refused sends asks once.
func (t *tokens) drop(bearer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current != nil && t.current.AccessToken == bearer {
		t.current = nil
	}
}

// bound gives requests the context that the kit's token source forgets.
type bound struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one question
	base http.RoundTripper
}

func (b *bound) RoundTrip(req *http.Request) (*http.Response, error) {
	return b.base.RoundTrip(req.WithContext(b.ctx))
}

var issuerWord = regexp.MustCompile(`^[a-z][a-z_]{0,40}$`)

// classifyToken judges a send that got no token, at now. It was not sent, so
// nothing can have been delivered.
func classifyToken(err error, now time.Time) push.Verdict {
	var refused *oauth2.RetrieveError
	switch {
	case errors.Is(err, errNoToken):
		return push.Verdict{Class: push.Cred, Reason: "token_missing"}
	case !errors.As(err, &refused) || refused.Response == nil:
		return push.Verdict{Class: push.Backoff, Reason: "token_unreachable", Unsent: true}
	}
	status := refused.Response.StatusCode
	v := push.Verdict{
		Class:      push.Cred,
		Reason:     "token_http_" + strconv.Itoa(status),
		RetryAfter: retryAfter(refused.Response.Header.Get("Retry-After"), now),
	}
	var body struct {
		Error string `json:"error"` // RFC 6749 §5.2
	}
	if json.Unmarshal(refused.Body, &body) == nil && issuerWord.MatchString(body.Error) {
		v.Reason = "token_" + body.Error
	}
	if status < 400 || status >= 500 || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests {
		v.Class, v.RetryAfter, v.Unsent = push.Backoff, max(v.RetryAfter, leastBackoff), true
	}
	return v
}
