package fcm_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push/emulator/fcm"
)

func TestServer_GivesAnAccessToken(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{TokenLife: 10 * time.Minute})
	got := b.exchange(b.assertion(b.claims()))
	if got.Status != 200 || got.TokenType != "Bearer" || got.ExpiresIn != 600 || got.AccessToken == b.access {
		t.Errorf("answer = %d %s", got.Status, got.Body)
	}
	b.clock.advance(10*time.Minute - time.Second)
	b.want(b.good(), 200, "")
	b.clock.advance(time.Second)
	if got := b.want(b.good(), 401, ""); got.Error.Details[0].Reason != "ACCESS_TOKEN_EXPIRED" {
		t.Errorf("body = %s", got.Body)
	}
	b.renew()
	b.want(b.good(), 200, "")
}

// TestServer_B35_EveryMutationOfAnAssertion changes one thing of an assertion that passes.
func TestServer_B35_EveryMutationOfAnAssertion(t *testing.T) {
	t.Parallel()
	stranger, key, err := fcm.NewServiceAccount("demo-project")
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, value any) func(*bench) url.Values {
		return func(b *bench) url.Values {
			c := b.claims()
			if c[name] = value; value == nil {
				delete(c, name)
			}
			return b.assertion(c)
		}
	}
	times := func(iat, exp time.Duration) func(*bench) url.Values {
		return func(b *bench) url.Values {
			c := b.claims()
			c["iat"], c["exp"] = b.clock.now().Add(iat).Unix(), b.clock.now().Add(exp).Unix()
			return b.assertion(c)
		}
	}
	for _, tc := range []struct {
		name    string
		form    func(*bench) url.Values
		refusal string // "" for a token
	}{
		{"as it is", func(b *bench) url.Values { return b.assertion(b.claims()) }, ""},
		{"without kid", func(b *bench) url.Values {
			return b.signed(jwt.SigningMethodRS256, identity().key, "", b.claims())
		}, ""},
		{"aud of Google", claim("aud", "https://oauth2.googleapis.com/token"), ""},
		{"sub is itself", claim("sub", identity().Email), ""},
		{"as old as its life", times(-time.Hour+time.Second, time.Second), ""},

		{"no grant type", func(*bench) url.Values { return url.Values{} }, "unsupported_grant_type"},
		{"another grant type", func(*bench) url.Values { return url.Values{"grant_type": {"refresh_token"}} }, "unsupported_grant_type"},
		{"no assertion", func(b *bench) url.Values {
			return url.Values{"grant_type": b.assertion(b.claims())["grant_type"]}
		}, "invalid_grant"},
		{"signed by another key", func(b *bench) url.Values {
			return b.signed(jwt.SigningMethodRS256, key, identity().KeyID, b.claims())
		}, "invalid_grant"},
		{"kid of another key", func(b *bench) url.Values {
			return b.signed(jwt.SigningMethodRS256, identity().key, stranger.KeyID, b.claims())
		}, "invalid_grant"},
		{"another algorithm", func(b *bench) url.Values {
			return b.signed(jwt.SigningMethodRS512, identity().key, identity().KeyID, b.claims())
		}, "invalid_grant"},
		{"no signature", func(b *bench) url.Values {
			return b.signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, identity().KeyID, b.claims())
		}, "invalid_grant"},
		{"unknown account", claim("iss", stranger.Email), "invalid_grant"},
		{"no iss", claim("iss", nil), "invalid_grant"},
		{"deleted account", func(b *bench) url.Values {
			b.RevokeAccount(identity().Email)
			return b.assertion(b.claims())
		}, "invalid_grant"},
		{"sub of somebody", claim("sub", "ann@example.com"), "unauthorized_client"},
		{"no aud", claim("aud", nil), "invalid_grant"},
		{"aud of another service", claim("aud", "https://fcm.googleapis.com/"), "invalid_grant"},
		{"no iat", claim("iat", nil), "invalid_grant"},
		{"no exp", claim("exp", nil), "invalid_grant"},
		{"iat as text", claim("iat", "1800000000"), "invalid_grant"},
		{"iat in the future", times(time.Second, time.Hour), "invalid_grant"},
		{"expired", times(-time.Minute, 0), "invalid_grant"},
		{"lives too long", times(0, time.Hour+time.Second), "invalid_grant"},
		{"no scope", claim("scope", nil), "invalid_scope"},
		{"empty scope", claim("scope", " "), "invalid_scope"},
		{"scope of nobody", claim("scope", scope+" firebase"), "invalid_scope"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := start(t, fcm.Config{})
			got := b.exchange(tc.form(b))
			want := http.StatusBadRequest
			if tc.refusal == "" {
				want = http.StatusOK
			}
			if got.Status != want || got.Refusal != tc.refusal || (got.AccessToken == "") != (tc.refusal != "") {
				t.Errorf("answer = %d %s, want %d %q", got.Status, got.Body, want, tc.refusal)
			}
			all := b.Log().All()
			last := all[len(all)-1]
			if last.Endpoint != fcm.TokenEndpoint || last.Code != fcm.ErrorCode(tc.refusal) || last.Payload != nil || last.Raw != nil {
				t.Errorf("record = %+v", last)
			}
			if n := len(b.Requests()); n != 0 {
				t.Errorf("requests to send = %d, want none", n)
			}
		})
	}
}

func TestServer_TokenEndpointWantsAForm(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	form := b.assertion(b.claims()).Encode()
	for name, req := range map[string]struct{ method, kind string }{
		"GET":  {"GET", "application/x-www-form-urlencoded"},
		"JSON": {"POST", "application/json"},
	} {
		got, err := b.do(t.Context(), b.http, req.method, "/token", http.Header{"Content-Type": {req.kind}}, form)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != 400 || got.Refusal != "invalid_request" {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

func TestServer_IssuesCredentials(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	text, err := b.Issue("")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]string
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(file["private_key"]))
	if err != nil {
		t.Fatal(err)
	}
	if file["type"] != "service_account" || file["project_id"] != fcm.DefaultProject || file["token_uri"] != b.TokenURL() ||
		!strings.HasSuffix(file["client_email"], "@demo-project.iam.gserviceaccount.com") {
		t.Errorf("credentials = %v", file)
	}
	c := b.claims()
	c["iss"] = file["client_email"]
	got := b.exchange(b.signed(jwt.SigningMethodRS256, key, file["private_key_id"], c))
	b.access = got.AccessToken
	b.want(b.good(), 200, "")
}

func TestServer_RefusesBadAccounts(t *testing.T) {
	t.Parallel()
	b := start(t, fcm.Config{})
	good := identity().ServiceAccount
	for name, change := range map[string]func(*fcm.ServiceAccount){
		"email":   func(a *fcm.ServiceAccount) { a.Email = "" },
		"key id":  func(a *fcm.ServiceAccount) { a.KeyID = "" },
		"project": func(a *fcm.ServiceAccount) { a.Project = "" },
		"key":     func(a *fcm.ServiceAccount) { a.Public = nil },
	} {
		a := good
		change(&a)
		if err := b.RegisterAccount(a); err == nil {
			t.Errorf("without %s it was registered", name)
		}
	}
	good.Projects = []string{fcm.DefaultProject, "second"}
	b.AddProject("second")
	if err := b.RegisterAccount(good); err != nil {
		t.Fatal(err)
	}
	b.add(fcm.Registration{Token: b.token, App: app, Project: "second", Phone: b.phone})
	p := b.good()
	p.path = "/v1/projects/second/messages:send"
	got := b.want(p, 200, "")
	if diff := cmp.Diff([]string{got.Name}, b.arrived()); diff != "" {
		t.Error(diff)
	}
}
