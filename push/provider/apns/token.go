package apns

import (
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// providerToken is one signed token and when it was issued, by our clock.
type providerToken struct {
	bearer string
	issued time.Time
}

// sign makes a provider token (Apple: "Establishing a token-based connection to
// APNs": ES256, kid, iss, numeric iat).
func (c Config) sign() (providerToken, error) {
	now := c.Now()
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": c.TeamID, "iat": now.Unix()})
	t.Header = map[string]any{"alg": "ES256", "kid": c.KeyID}
	bearer, err := t.SignedString(c.Key)
	return providerToken{bearer: bearer, issued: now}, err
}

// stale reports whether the token has to be replaced: too old, or signed by a
// clock that has been set back since.
func (c Config) stale(t providerToken) bool {
	age := c.Now().Sub(t.issued)
	return t.bearer == "" || age >= c.Rotate || age < -time.Minute
}
