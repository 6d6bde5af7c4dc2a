package auth_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

// known answers as the verbs do, and notes what it was asked.
type known struct {
	asked string
	err   error
}

func (k *known) AuthenticateAgent(_ context.Context, token credential.Token) (policy.Principal, error) {
	k.asked = string(token.Kind()) + " " + token.ID()
	return policy.Principal{Kind: policy.Agent, Agent: "agt"}, k.err
}

func (k *known) CheckInstallation(_ context.Context, account, installation string, generation uint64) (policy.Principal, error) {
	k.asked = account + " " + installation
	if generation != 7 {
		return policy.Principal{}, app.ErrRevoked
	}
	return policy.Principal{Kind: policy.Probation, Account: account, Installation: installation}, k.err
}

func opaque(t *testing.T, kind credential.Kind) credential.Token {
	t.Helper()
	token, err := credential.New(rand.Reader, kind)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// office is an issuer with a clock of its own.
func office(t *testing.T, now func() time.Time) *auth.Issuer {
	t.Helper()
	issuer, err := auth.NewIssuer(auth.Config{
		Name: "srv", Audience: "beckon", Epoch: func() uint64 { return 1 }, Now: now, Random: rand.Reader,
		Access: auth.KeyRing{Current: auth.SigningKey{ID: "a", Key: signingKey(t, 1)}},
		Tap:    auth.KeyRing{Current: auth.SigningKey{ID: "t", Key: signingKey(t, 2)}},
		Permit: auth.SigningKey{ID: "p", Key: signingKey(t, 9)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

func signingKey(t *testing.T, fill byte) credential.Key {
	t.Helper()
	raw := make([]byte, credential.KeySize)
	raw[0] = fill
	key, err := credential.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// mistyped has another character in one place, whichever was there.
func mistyped(token string) string {
	other := "x"
	if token[30] == 'x' {
		other = "y"
	}
	return token[:30] + other + token[31:]
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	issuer := office(t, func() time.Time { return now })
	grants := auth.NewGrants(issuer)
	access, _, err := grants.Access(app.AccessGrant{Account: "acc", Installation: "ins", AuthEpoch: 7})
	old, _, err2 := grants.Access(app.AccessGrant{Account: "acc", Installation: "ins", AuthEpoch: 6})
	tap, err3 := grants.Tap(app.TapGrant{Account: "acc", Installation: "ins", Decision: "dec", Asked: [32]byte{1}, Verb: "deny", ExpireTime: now.Add(time.Minute)})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	agent, task := opaque(t, credential.KindAgent), opaque(t, credential.KindTask)
	good := "Bearer " + access.Reveal()
	for name, c := range map[string]struct {
		headers []string
		err     error
		asked   string
	}{
		"access token":       {[]string{good}, nil, "acc ins"},
		"scheme in any case": {[]string{"bEARER " + access.Reveal()}, nil, "acc ins"},
		"agent's key":        {[]string{"Bearer " + agent.Reveal()}, nil, "agt " + agent.ID()},
		"task token":         {[]string{"Bearer " + task.Reveal()}, nil, "tsk " + task.ID()},
		"ended session":      {[]string{"Bearer " + old.Reveal()}, app.ErrRevoked, "acc ins"},

		"none":             {nil, app.ErrBadToken, ""},
		"empty":            {[]string{""}, app.ErrBadToken, ""},
		"scheme alone":     {[]string{"Bearer "}, app.ErrBadToken, ""},
		"two headers":      {[]string{good, good}, app.ErrBadToken, ""},
		"two in one":       {[]string{good + "," + good}, app.ErrBadToken, ""},
		"two words":        {[]string{"Bearer  " + access.Reveal()}, app.ErrBadToken, ""},
		"another scheme":   {[]string{"Token " + access.Reveal()}, app.ErrBadToken, ""},
		"too long":         {[]string{good + strings.Repeat("x", 4096)}, app.ErrBadToken, ""},
		"a tap token":      {[]string{"Bearer " + tap}, app.ErrBadToken, ""},
		"a typo":           {[]string{"Bearer " + mistyped(agent.Reveal())}, app.ErrBadToken, ""},
		"a refresh token":  {[]string{"Bearer " + opaque(t, credential.KindRefresh).Reveal()}, app.ErrBadToken, ""},
		"a claim link":     {[]string{"Bearer " + opaque(t, credential.KindOwner).Reveal()}, app.ErrBadToken, ""},
		"a browser cookie": {[]string{"Bearer " + opaque(t, credential.KindWeb).Reveal()}, app.ErrBadToken, ""},
		"a tenant's key":   {[]string{"Bearer " + opaque(t, credential.KindTenant).Reveal()}, app.ErrBadToken, ""},
	} {
		k := &known{}
		p, err := auth.NewAuthenticator(issuer, k).Authenticate(t.Context(), c.headers)
		if !errors.Is(err, c.err) || k.asked != c.asked {
			t.Errorf("%s: %v after asking %q, want %v and %q", name, err, k.asked, c.err, c.asked)
		}
		if err != nil && p != (policy.Principal{}) {
			t.Errorf("%s: refused and yet %v", name, p)
		}
	}
}

func TestAuthenticateLate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	issuer := office(t, func() time.Time { return now })
	access, expires, err := auth.NewGrants(issuer).Access(app.AccessGrant{Account: "acc", Installation: "ins", AuthEpoch: 7})
	if err != nil {
		t.Fatal(err)
	}
	now = expires.Add(time.Minute)
	k := &known{}
	if _, err := auth.NewAuthenticator(issuer, k).Authenticate(t.Context(), []string{"Bearer " + access.Reveal()}); !errors.Is(err, app.ErrExpired) {
		t.Error("a late token met", err)
	}
	if k.asked != "" {
		t.Error("the claims of a failed token were used:", k.asked)
	}
}

func TestTapsOfTheVerbs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	issuer := office(t, func() time.Time { return now })
	token, err := auth.NewGrants(issuer).Tap(app.TapGrant{
		Account: "acc", Installation: "ins", Decision: "dec", Revision: 3, Asked: [32]byte{9}, Verb: "approve", ExpireTime: now.Add(time.Minute),
	})
	if err != nil {
		t.Fatal(err)
	}
	doorkeeper := auth.NewAuthenticator(issuer, &known{})
	p, tap, err := doorkeeper.Tap(token)
	if err != nil || p != (policy.Principal{Kind: policy.Installation, Account: "acc", Installation: "ins"}) {
		t.Errorf("taps as %v, %v", p, err)
	}
	if tap.Verb != decision.Approve || tap.Decision != "dec" || tap.Revision != 3 || tap.Asked != (decision.Digest{9}) {
		t.Errorf("taps %+v", tap)
	}
	now = now.Add(2 * time.Minute)
	if _, _, err := doorkeeper.Tap(token); !errors.Is(err, app.ErrExpired) {
		t.Error("a late tap met", err)
	}
	if _, _, err := doorkeeper.Tap("x.y.z"); !errors.Is(err, app.ErrBadToken) {
		t.Error("no tap met", err)
	}
}
