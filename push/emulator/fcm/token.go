package fcm

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	tokenPath = "/token"
	grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	// googleTokenURL is the audience of senders that believe they talk to Google.
	googleTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, no credential
	// assertionLife is the most an assertion may be good for (Google: "Using OAuth
	// 2.0 for Server to Server Applications").
	assertionLife = time.Hour
	scopePrefix   = "https://www.googleapis.com/auth/"
)

// grant is what an access token stands for.
type grant struct {
	email   string
	scopes  []string
	expires time.Time
}

// refusal is the error body of the token endpoint (RFC 6749 §5.2).
type refusal struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func invalidGrant(description string) *refusal { return &refusal{"invalid_grant", description} }

// exchange judges a request for an access token and answers it.
func (s *Server) exchange(r *request, rec *Record) outcome {
	values, err := url.ParseQuery(string(r.body))
	form, _, _ := strings.Cut(r.header.Get("content-type"), ";")
	if r.method != http.MethodPost || err != nil || strings.TrimSpace(form) != "application/x-www-form-urlencoded" {
		return refuse(&refusal{"invalid_request", "Bad Request"})
	}
	if values.Get("grant_type") != grantType {
		return refuse(&refusal{"unsupported_grant_type", "Invalid grant_type: " + values.Get("grant_type")})
	}
	g, no := s.verify(values.Get("assertion"), r.at)
	rec.Account = g.email
	if no != nil {
		return refuse(no)
	}
	token := "ya29.emulator-" + randomHex(24)
	s.mu.Lock()
	for old, granted := range s.access {
		if r.at.Sub(granted.expires) > 24*time.Hour {
			delete(s.access, old)
		}
	}
	s.access[token] = g
	s.mu.Unlock()
	body := struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
		TokenType   string `json:"token_type"`
	}{token, int(s.life / time.Second), "Bearer"}
	return outcome{status: http.StatusOK, body: encode(body), answer: Replied}
}

func refuse(no *refusal) outcome {
	return outcome{status: http.StatusBadRequest, body: encode(no), code: no.Error, answer: Replied}
}

// verify judges an assertion (RFC 7523; Google: "Using OAuth 2.0 for Server to
// Server Applications").
func (s *Server) verify(assertion string, now time.Time) (grant, *refusal) {
	var g grant
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
		jwt.WithJSONNumber(),
		jwt.WithoutClaimsValidation(), // the times are judged by the emulator's clock
	)
	known := false
	_, err := parser.ParseWithClaims(assertion, claims, func(t *jwt.Token) (any, error) {
		email, _ := claims["iss"].(string)
		s.mu.Lock()
		account, ok := s.accounts[email]
		s.mu.Unlock()
		if known = ok; !ok {
			return nil, jwt.ErrTokenUnverifiable
		}
		// The kid is optional; one that is there has to be the key's.
		if kid, has := t.Header["kid"]; has && kid != account.KeyID {
			return nil, jwt.ErrTokenUnverifiable
		}
		g.email = email
		return account.Public, nil
	})
	iss, _ := claims["iss"].(string)
	switch {
	case err != nil && iss != "" && !known:
		return g, invalidGrant("Invalid grant: account not found")
	case err != nil:
		return g, invalidGrant("Invalid JWT Signature.")
	}
	if sub, has := claims["sub"]; has && sub != iss {
		return g, &refusal{"unauthorized_client", "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested."}
	}
	if aud, _ := claims["aud"].(string); aud != s.TokenURL() && aud != googleTokenURL {
		return g, invalidGrant("Invalid JWT: Failed audience check.")
	}
	issued, ok1 := seconds(claims["iat"])
	expires, ok2 := seconds(claims["exp"])
	if !ok1 || !ok2 || issued.After(now) || !expires.After(now) || expires.Sub(issued) > assertionLife {
		return g, invalidGrant("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.")
	}
	scope, _ := claims["scope"].(string)
	g.scopes = strings.Fields(scope)
	switch {
	case len(g.scopes) == 0:
		return g, &refusal{"invalid_scope", "Empty or missing scope not allowed."}
	case slices.ContainsFunc(g.scopes, func(s string) bool { return !strings.HasPrefix(s, scopePrefix) || s == scopePrefix }):
		return g, &refusal{"invalid_scope", "Invalid OAuth scope or ID token audience provided."}
	}
	g.expires = now.Add(s.life)
	return g, nil
}

func seconds(claim any) (time.Time, bool) {
	number, _ := claim.(json.Number) // "" for text, which is no number either
	n, err := number.Int64()
	return time.Unix(n, 0), err == nil
}

// ExpireAccessTokens ends every access token given out so far, as when Google
// takes them back.
func (s *Server) ExpireAccessTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, g := range s.access {
		g.expires = s.now()
		s.access[token] = g
	}
}

// authorize judges the access token of a request to send.
func (s *Server) authorize(header, project string, now time.Time) (email string, no *failure) {
	kind, token, _ := strings.Cut(header, " ")
	if header == "" || !strings.EqualFold(kind, "Bearer") || strings.TrimSpace(token) == "" {
		return "", unauthenticated("CREDENTIALS_MISSING")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.access[strings.TrimSpace(token)]
	switch {
	case !ok:
		return "", unauthenticated("ACCESS_TOKEN_TYPE_UNSUPPORTED")
	case !now.Before(g.expires):
		return g.email, unauthenticated("ACCESS_TOKEN_EXPIRED")
	case !slices.Contains(g.scopes, scopePrefix+"firebase.messaging") && !slices.Contains(g.scopes, scopePrefix+"cloud-platform"):
		return g.email, denied("Request had insufficient authentication scopes.", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")
	case !s.projects[project]:
		return g.email, notFound()
	case !slices.Contains(s.accounts[g.email].Projects, project):
		return g.email, denied("Permission 'cloudmessaging.messages.create' denied on resource '//cloudresourcemanager.googleapis.com/projects/"+project+"' (or it may not exist).", "IAM_PERMISSION_DENIED")
	}
	return g.email, nil
}
