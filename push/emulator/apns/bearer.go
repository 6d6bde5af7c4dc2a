package apns

import (
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Apple: "Establishing a token-based connection to APNs": refresh no more than
// once every 20 minutes and no less than once every 60.
const (
	tokenLife     = time.Hour
	tokenInterval = 20 * time.Minute
)

// bearer is a provider token that was verified.
type bearer struct {
	key    Key
	issued time.Time
}

// bearerHistory is what one connection remembers of the provider tokens it saw.
// Apple does not write down that this state is per connection; senders found it
// out (jchambers/pushy#783, #931, #946).
type bearerHistory struct {
	mu       sync.Mutex
	accepted map[string]bearer
	first    *Key      // of the first accepted token
	changed  time.Time // when the newest accepted token was first seen
	poisoned bool      // an expired token was seen
}

// authorize judges an authorization header at a connection. A reason other than ""
// is the refusal.
func (s *Server) authorize(h *bearerHistory, env Env, header string, now time.Time) (bearer, Reason) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.poisoned {
		return bearer{}, ExpiredProviderToken
	}
	token, isBearer := strings.CutPrefix(header, "bearer ")
	if token = strings.TrimSpace(token); !isBearer || token == "" {
		return bearer{}, MissingProviderToken
	}
	b, known := h.accepted[token]
	if !known {
		var reason Reason
		if b, reason = s.verify(h, env, token); reason != "" {
			return b, reason
		}
	}
	if b.issued.After(now) {
		return b, InvalidProviderToken
	}
	if now.Sub(b.issued) > tokenLife {
		h.poisoned = true
		return b, ExpiredProviderToken
	}
	if known {
		return b, ""
	}
	if h.first != nil && now.Sub(h.changed) < tokenInterval {
		return b, TooManyProviderTokenUpdates
	}
	if h.first == nil {
		h.first = &b.key
		h.accepted = make(map[string]bearer)
	}
	h.accepted[token], h.changed = b, now
	return b, ""
}

// verify checks everything about a token that does not depend on the time.
func (s *Server) verify(h *bearerHistory, env Env, token string) (bearer, Reason) {
	var b bearer
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodES256.Alg()}),
		jwt.WithJSONNumber(),
		jwt.WithoutClaimsValidation(), // the times are judged by the emulator's clock
	)
	_, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		kid, _ := t.Header["kid"].(string)
		key, ok := s.key(kid)
		if !ok {
			return nil, jwt.ErrTokenUnverifiable
		}
		b.key = key
		return key.Public, nil
	})
	if err != nil {
		return bearer{}, InvalidProviderToken
	}
	number, _ := claims["iat"].(json.Number) // "" for text, which is no number either
	seconds, err := number.Int64()
	if iss, _ := claims["iss"].(string); iss != b.key.TeamID || err != nil {
		return b, InvalidProviderToken
	}
	b.issued = time.Unix(seconds, 0)
	switch {
	case !b.key.goodFor(env):
		return b, BadEnvironmentKeyIDInToken
	case h.first != nil && h.first.TeamID != b.key.TeamID:
		return b, InvalidProviderToken
	case h.first != nil && !b.key.related(h.first):
		return b, UnrelatedKeyIDInToken
	}
	return b, ""
}
