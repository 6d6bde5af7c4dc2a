package auth_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"hash"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/sync/proof"
)

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func keyOf(t testing.TB, fill byte) credential.Key {
	t.Helper()
	return must(credential.NewKey(bytes.Repeat([]byte{fill}, 32)))(t)
}

// start is when the tokens of the tests are made.
func start() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// bench is an issuer whose clock and epoch a test turns.
type bench struct {
	now   time.Time
	epoch uint64
	cfg   auth.Config
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{now: start(), epoch: 3}
	b.cfg = auth.Config{
		Name: "srv_1", Audience: "beckon",
		Access: auth.KeyRing{Current: auth.SigningKey{ID: "at-1", Key: keyOf(t, 1)}},
		Tap:    auth.KeyRing{Current: auth.SigningKey{ID: "tap-1", Key: keyOf(t, 2)}},
		Permit: auth.SigningKey{ID: "p", Key: keyOf(t, 9)},
		Epoch:  func() uint64 { return b.epoch },
		Now:    func() time.Time { return b.now },
		Random: rand.Reader,
	}
	return b
}

func (b *bench) issuer(t testing.TB) *auth.Issuer {
	t.Helper()
	return must(auth.NewIssuer(b.cfg))(t)
}

func accessGrant() auth.AccessGrant {
	return auth.AccessGrant{Account: "acc_1", Installation: "ins_1", Kind: "installation", Generation: 2, Scopes: []string{"task:work", "read:own"}}
}

func tapGrant() auth.TapGrant {
	return auth.TapGrant{
		Account: "acc_1", Installation: "ins_1", Decision: "dec_1", Revision: 7,
		Digest: proof.Sum([]byte("asked")), Verb: "approve",
	}
}

func TestAccessToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.now = b.now.Add(123456 * time.Microsecond)
	issuer := b.issuer(t)
	token, expires, err := issuer.MintAccess(accessGrant())
	if err != nil {
		t.Fatal(err)
	}
	got := must(issuer.VerifyAccess(token.Reveal()))(t)
	want := auth.Access{
		AccessGrant: accessGrant(), Epoch: 3, IssueTime: start(), ExpireTime: start().Add(10 * time.Minute),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !expires.Equal(want.ExpireTime) {
		t.Errorf("expires %v", expires)
	}
	bare := auth.AccessGrant{Account: "a", Installation: "i", Kind: "probation"}
	token, _, err = issuer.MintAccess(bare)
	if err != nil {
		t.Fatal(err)
	}
	if got := must(issuer.VerifyAccess(token.Reveal()))(t); cmp.Diff(bare, got.AccessGrant) != "" {
		t.Error(cmp.Diff(bare, got.AccessGrant))
	}
}

func TestTapToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	issuer := b.issuer(t)
	ids := map[string]bool{}
	for _, test := range []struct {
		name     string
		deadline time.Time
		end      time.Duration
	}{
		{"no deadline", time.Time{}, time.Hour},
		{"late deadline", start().Add(2 * time.Hour), time.Hour},
		{"early deadline", start().Add(90*time.Second + time.Millisecond), 90 * time.Second},
	} {
		token, minted, err := issuer.MintTap(tapGrant(), test.deadline)
		if err != nil {
			t.Fatal(err)
		}
		got := must(issuer.VerifyTap(token.Reveal()))(t)
		want := auth.Tap{
			TapGrant: tapGrant(), ID: minted.ID, Epoch: 3, IssueTime: start(), ExpireTime: start().Add(test.end),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
		if diff := cmp.Diff(minted, got); diff != "" {
			t.Errorf("%s: minted and verified differ:\n%s", test.name, diff)
		}
		if len(got.ID) != 22 || ids[got.ID] {
			t.Errorf("%s: id %q", test.name, got.ID)
		}
		ids[got.ID] = true
	}
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	issuer := b.issuer(t)
	for name, change := range map[string]func(*auth.AccessGrant){
		"no account":      func(g *auth.AccessGrant) { g.Account = "" },
		"long account":    func(g *auth.AccessGrant) { g.Account = strings.Repeat("a", 129) },
		"no installation": func(g *auth.AccessGrant) { g.Installation = "" },
		"control":         func(g *auth.AccessGrant) { g.Installation = "a\n" },
		"no kind":         func(g *auth.AccessGrant) { g.Kind = "" },
		"kind in words":   func(g *auth.AccessGrant) { g.Kind = "full installation" },
		"two in a scope":  func(g *auth.AccessGrant) { g.Scopes = []string{"a b"} },
		"empty scope":     func(g *auth.AccessGrant) { g.Scopes = []string{""} },
		"long scopes":     func(g *auth.AccessGrant) { g.Scopes = []string{strings.Repeat("a:", 300)} },
	} {
		grant := accessGrant()
		change(&grant)
		if token, _, err := issuer.MintAccess(grant); !errors.Is(err, auth.ErrGrant) || !token.IsZero() {
			t.Errorf("access, %s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*auth.TapGrant){
		"no account":      func(g *auth.TapGrant) { g.Account = "" },
		"no installation": func(g *auth.TapGrant) { g.Installation = "" },
		"no decision":     func(g *auth.TapGrant) { g.Decision = "" },
		"no digest":       func(g *auth.TapGrant) { g.Digest = proof.Digest{} },
		"no verb":         func(g *auth.TapGrant) { g.Verb = "" },
		"verb":            func(g *auth.TapGrant) { g.Verb = "Approve" },
		"revision":        func(g *auth.TapGrant) { g.Revision = 1 << 53 },
	} {
		grant := tapGrant()
		change(&grant)
		if token, _, err := issuer.MintTap(grant, time.Time{}); !errors.Is(err, auth.ErrGrant) || !token.IsZero() {
			t.Errorf("tap, %s: %v", name, err)
		}
	}
	for _, late := range []time.Duration{-time.Hour, 0, 999 * time.Millisecond} {
		if _, _, err := issuer.MintTap(tapGrant(), start().Add(late)); !errors.Is(err, auth.ErrGrant) {
			t.Errorf("deadline %v: %v", late, err)
		}
	}
	broken := errors.New("broken")
	b.cfg.Random = iotest.ErrReader(broken)
	if _, _, err := b.issuer(t).MintTap(tapGrant(), time.Time{}); !errors.Is(err, broken) {
		t.Errorf("random source: %v", err)
	}
}

// J18 for our own keys: what is too weak or used twice stops the start.
func TestConfigRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*auth.Config){
		"no name":       func(c *auth.Config) { c.Name = "" },
		"no audience":   func(c *auth.Config) { c.Audience = "" },
		"short life":    func(c *auth.Config) { c.AccessLife = time.Minute },
		"long life":     func(c *auth.Config) { c.AccessLife = time.Hour },
		"no clock":      func(c *auth.Config) { c.Now = nil },
		"no epoch":      func(c *auth.Config) { c.Epoch = nil },
		"no random":     func(c *auth.Config) { c.Random = nil },
		"no access key": func(c *auth.Config) { c.Access.Current.Key = credential.Key{} },
		"no tap key":    func(c *auth.Config) { c.Tap = auth.KeyRing{} },
		"no kid":        func(c *auth.Config) { c.Access.Current.ID = "" },
		"kid is a path": func(c *auth.Config) { c.Access.Current.ID = "../at" },
		"long kid":      func(c *auth.Config) { c.Access.Current.ID = strings.Repeat("k", 65) },
		"one key twice": func(c *auth.Config) { c.Tap.Current.Key = c.Access.Current.Key },
		"one kid twice": func(c *auth.Config) { c.Tap.Current.ID = c.Access.Current.ID },
		"previous is current": func(c *auth.Config) {
			c.Access.Previous = auth.SigningKey{ID: "at-0", Key: c.Access.Current.Key}
		},
		"previous without key": func(c *auth.Config) { c.Access.Previous.ID = "at-0" },
		"previous without kid": func(c *auth.Config) { c.Access.Previous.Key = c.Tap.Current.Key },
	} {
		b := newBench(t)
		change(&b.cfg)
		if _, err := auth.NewIssuer(b.cfg); !errors.Is(err, auth.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A rotation keeps yesterday's tokens alive until their key is dropped.
func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old := b.issuer(t)
	oldAccess, _, err := old.MintAccess(accessGrant())
	if err != nil {
		t.Fatal(err)
	}
	oldTap, _, err := old.MintTap(tapGrant(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	b.cfg.Access = auth.KeyRing{Current: auth.SigningKey{ID: "at-2", Key: keyOf(t, 3)}, Previous: b.cfg.Access.Current}
	b.cfg.Tap = auth.KeyRing{Current: auth.SigningKey{ID: "tap-2", Key: keyOf(t, 4)}, Previous: b.cfg.Tap.Current}
	both := b.issuer(t)
	newAccess, _, err := both.MintAccess(accessGrant())
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]credential.Secret{"old": oldAccess, "new": newAccess} {
		if _, err := both.VerifyAccess(token.Reveal()); err != nil {
			t.Errorf("%s access during the overlap: %v", name, err)
		}
	}
	if _, err := both.VerifyTap(oldTap.Reveal()); err != nil {
		t.Errorf("old tap during the overlap: %v", err)
	}
	refusedAs(t, "new token at the old issuer", second(old.VerifyAccess(newAccess.Reveal())), auth.ErrBadToken, auth.ReasonKey)
	b.cfg.Access.Previous, b.cfg.Tap.Previous = auth.SigningKey{}, auth.SigningKey{}
	after := b.issuer(t)
	refusedAs(t, "old access after it", second(after.VerifyAccess(oldAccess.Reveal())), auth.ErrBadToken, auth.ReasonKey)
	refusedAs(t, "old tap after it", second(after.VerifyTap(oldTap.Reveal())), auth.ErrBadToken, auth.ReasonKey)
	// The kid of one key with the signature of another is a forgery.
	forged := sign(oldHeader("at-2"), goodAccess(), bytes.Repeat([]byte{1}, 32), sha256.New)
	refusedAs(t, "swapped kid", second(both.VerifyAccess(forged)), auth.ErrBadToken, auth.ReasonSignature)
}

func oldHeader(kid string) string { return `{"alg":"HS256","kid":"` + kid + `","typ":"bk-at+jwt"}` }

func second[T any](_ T, err error) error { return err }

func refusedAs(t *testing.T, name string, err, kind error, why auth.Reason) {
	t.Helper()
	var refusal *auth.RefusedError
	if !errors.As(err, &refusal) {
		t.Errorf("%s: got %v, want a refusal", name, err)
		return
	}
	if !errors.Is(err, kind) || refusal.Reason != why {
		t.Errorf("%s: got %v, want %v: %s", name, err, kind, why)
	}
}

// J11, J12, J21, J22: time and epoch, at the borders.
func TestTimeAndEpoch(t *testing.T) {
	t.Parallel()
	const life = 10 * time.Minute
	for _, test := range []struct {
		name  string
		now   time.Duration
		epoch uint64
		kind  error
		why   auth.Reason
	}{
		{"at once", 0, 3, nil, ""},
		{"29 s past the end", life + 29*time.Second, 3, nil, ""},
		{"just inside the leeway", life + 30*time.Second - time.Microsecond, 3, nil, ""},
		{"30 s past the end", life + 30*time.Second, 3, auth.ErrExpired, auth.ReasonOver},
		{"31 s past the end", life + 31*time.Second, 3, auth.ErrExpired, auth.ReasonOver},
		{"node ahead by 61 s at the end", life + 61*time.Second, 3, auth.ErrExpired, auth.ReasonOver},
		{"node behind by 29 s", -29 * time.Second, 3, nil, ""},
		{"node behind by 30 s", -30 * time.Second, 3, nil, ""},
		{"node behind by 31 s", -31 * time.Second, 3, auth.ErrBadToken, auth.ReasonTime},
		{"node behind by 61 s", -61 * time.Second, 3, auth.ErrBadToken, auth.ReasonTime},
		{"restored since", 0, 4, auth.ErrExpired, auth.ReasonEpoch},
		{"epoch to come", 0, 2, auth.ErrBadToken, auth.ReasonEpoch},
		{"epoch to come, and over", life * 2, 2, auth.ErrBadToken, auth.ReasonEpoch},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			issuer := b.issuer(t)
			access, _, err := issuer.MintAccess(accessGrant())
			if err != nil {
				t.Fatal(err)
			}
			tap, _, err := issuer.MintTap(tapGrant(), start().Add(life))
			if err != nil {
				t.Fatal(err)
			}
			b.now, b.epoch = start().Add(test.now), test.epoch
			_, accessErr := issuer.VerifyAccess(access.Reveal())
			_, tapErr := issuer.VerifyTap(tap.Reveal())
			for name, err := range map[string]error{"access": accessErr, "tap": tapErr} {
				if test.kind == nil {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					continue
				}
				refusedAs(t, name, err, test.kind, test.why)
			}
		})
	}
}

// sign makes a token as an attacker with some key would, from any text.
func sign(header, claims string, key []byte, newHash func() hash.Hash) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	mac := hmac.New(newHash, key)
	mac.Write([]byte(signed))
	return signed + "." + encode(mac.Sum(nil))
}

const (
	goodHeader    = `{"alg":"HS256","kid":"at-1","typ":"bk-at+jwt"}`
	goodTapHeader = `{"alg":"HS256","kid":"tap-1","typ":"bk-act+jwt"}`
)

func goodAccess() string {
	return `{"aud":"beckon","ep":3,"exp":1777637400,"gen":2,"iat":1777636800,"inst":"ins_1","iss":"srv_1","knd":"installation","scp":"task:work","sub":"acc_1"}`
}

func goodTap() string {
	return `{"dec":"dec_1","dig":"` + proof.Sum([]byte("asked")).String() +
		`","ep":3,"exp":1777637400,"iat":1777636800,"inst":"ins_1","jti":"abc","rev":7,"sub":"acc_1","verb":"deny"}`
}

func sha512New() hash.Hash { return sha512.New() }
