package auth_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/server/auth"
	"github.com/beckon-dev/beckon/sync/proof"
)

func permitGrant() auth.PermitGrant {
	return auth.PermitGrant{
		Account: "acc_1", Agent: "agt_1", Task: "tsk_1", Effect: "eff_1", Generation: 2,
		App: "mail", Connection: "work", Operation: "send", Digest: proof.Sum([]byte("action")),
	}
}

// gateway is another program that knows the published keys and nothing else.
func gateway(t *testing.T, keys []byte, token string) (head, body map[string]any) {
	t.Helper()
	var set struct {
		Keys []struct{ Kty, Crv, Kid, Alg, Use, X string }
	}
	if err := json.Unmarshal(keys, &set); err != nil || len(set.Keys) != 1 {
		t.Fatal(string(keys), err)
	}
	k := set.Keys[0]
	public := must(base64.RawURLEncoding.DecodeString(k.X))(t)
	parts := strings.Split(token, ".")
	if len(parts) != 3 || k.Kty != "OKP" || k.Crv != "Ed25519" || k.Alg != "EdDSA" || k.Use != "sig" {
		t.Fatalf("%s by %+v", token, k)
	}
	if !ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), must(base64.RawURLEncoding.DecodeString(parts[2]))(t)) {
		t.Fatal("the published key does not verify the permit")
	}
	for i, into := range []*map[string]any{&head, &body} {
		if err := json.Unmarshal(must(base64.RawURLEncoding.DecodeString(parts[i]))(t), into); err != nil {
			t.Fatal(err)
		}
	}
	if head["kid"] != k.Kid {
		t.Errorf("signed by %v, published %s", head["kid"], k.Kid)
	}
	return head, body
}

// R14: a permit says which attempt of which action got GO, for 60 seconds, and
// another program can check it.
func TestPermit_GatewayChecksIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	issuer := b.issuer(t)
	token, expires, err := issuer.MintPermit(permitGrant())
	if err != nil {
		t.Fatal(err)
	}
	head, body := gateway(t, issuer.PermitKeys(), token)
	if diff := cmp.Diff(map[string]any{"alg": "EdDSA", "kid": "p", "typ": "bk-permit+jwt"}, head); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{
		"agt": "agt_1", "app": "mail", "conn": "work", "op": "send", "dig": proof.Sum([]byte("action")).String(),
		"gen": 2.0, "jti": "eff_1.2", "iss": "srv_1", "sub": "acc_1", "task": "tsk_1",
		"iat": float64(start().Unix()), "exp": float64(start().Unix() + 60),
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if !expires.Equal(start().Add(time.Minute)) {
		t.Errorf("expires %v", expires)
	}
	// It opens nothing here.
	if _, err := issuer.VerifyAccess(token); !errors.Is(err, auth.ErrBadToken) {
		t.Errorf("as access token: %v", err)
	}
	if _, err := issuer.VerifyTap(token); !errors.Is(err, auth.ErrBadToken) {
		t.Errorf("as tap token: %v", err)
	}
}

func TestPermit_SaysSomething(t *testing.T) {
	t.Parallel()
	issuer := newBench(t).issuer(t)
	for name, change := range map[string]func(*auth.PermitGrant){
		"account": func(g *auth.PermitGrant) { g.Account = "" }, "agent": func(g *auth.PermitGrant) { g.Agent = "" },
		"effect": func(g *auth.PermitGrant) { g.Effect = "" }, "task": func(g *auth.PermitGrant) { g.Task = "" },
		"generation": func(g *auth.PermitGrant) { g.Generation = 0 }, "digest": func(g *auth.PermitGrant) { g.Digest = proof.Digest{} },
	} {
		g := permitGrant()
		change(&g)
		if token, _, err := issuer.MintPermit(g); !errors.Is(err, auth.ErrGrant) || token != "" {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
