package apns

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/device"
)

// maxToken bounds a device token in hex characters. Apple: tokens are of variable
// length; 64 for apps and 160 for live activities have been seen.
const maxToken = 200

// Registration is one device token: the one address of one app, or of one of its
// special channels, on one phone in one environment.
type Registration struct {
	// Token is even-length hex; letter case does not matter.
	Token string
	// Topic is the bundle id, with the suffix (".voip", …) for a channel that has
	// tokens of its own.
	Topic string
	Env   Env
	// Phone gets what is accepted; nil accepts and shows nothing. Several tokens
	// may lead to one phone, and the app has to be installed on it under the
	// bundle id.
	Phone *device.Device
}

// ErrBadRegistration answers a registration that no phone could have made.
var ErrBadRegistration = errors.New("apns: bad registration")

type registration struct {
	Registration
	gone   Reason // "" while the token is good
	goneAt time.Time
}

// AddDevice registers a device token. A token added again is good again, and
// belongs to what was given last.
func (s *Server) AddDevice(r Registration) error {
	token, ok := canonicalToken(r.Token)
	switch {
	case !ok:
		return fmt.Errorf("%w: the token is not even-length hex of at most %d characters", ErrBadRegistration, maxToken)
	case !validTopic(r.Topic):
		return fmt.Errorf("%w: topic %q", ErrBadRegistration, r.Topic)
	case r.Env != Sandbox && r.Env != Production:
		return fmt.Errorf("%w: environment %q", ErrBadRegistration, r.Env)
	}
	r.Token = token
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[token] = &registration{Registration: r}
	return nil
}

// Unregister makes a known token answer 410 Unregistered with the given time, as
// when the app was deleted then. It reports whether the token was known.
func (s *Server) Unregister(token string, at time.Time) bool {
	return s.giveUp(token, Unregistered, at)
}

// ExpireToken makes a known token answer 410 ExpiredToken with the given time. It
// reports whether the token was known.
func (s *Server) ExpireToken(token string, at time.Time) bool {
	return s.giveUp(token, ExpiredToken, at)
}

func (s *Server) giveUp(token string, reason Reason, at time.Time) bool {
	token, _ = canonicalToken(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.devices[token]
	if ok {
		r.gone, r.goneAt = reason, at
	}
	return ok
}

// device returns a copy of a token's registration in an environment.
func (s *Server) device(env Env, token string) (registration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.devices[token]
	if !ok || r.Env != env {
		return registration{}, false
	}
	return *r, true
}

// deliver is the one way from an accepted push to a phone; the store for a phone
// without network stands there.
func (r *registration) deliver(n device.Notification) {
	if r.Phone != nil {
		r.Phone.AcceptAPNs(n)
	}
}

func canonicalToken(token string) (string, bool) {
	if token == "" || len(token) > maxToken {
		return "", false
	}
	token = strings.ToLower(token)
	_, err := hex.DecodeString(token)
	return token, err == nil
}
