package apns

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/time/rate"
)

var errSigning = errors.New("apns: signing a provider token")

// slot is one place for a session and replaces it: by age, or because Apple
// asked for a new connection or a new token.
type slot struct {
	config Config
	host   string
	dials  *rate.Limiter

	mu      sync.Mutex
	current *session
}

func newSlot(c Config, host string, dials *rate.Limiter) *slot {
	return &slot{config: c, host: host, dials: dials}
}

// acquire returns the session to send on; release must follow.
func (l *slot) acquire() (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil && l.config.stale(l.current.token) {
		l.retire()
	}
	if l.current == nil {
		token, err := l.config.sign()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errSigning, err)
		}
		l.current = newSession(l.config, l.host, token, l.dials)
	}
	l.current.users++
	return l.current, nil
}

// enter acquires a session and waits for its gate. A session that was replaced
// while this send waited is left for the new one. release must follow success,
// after leave.
func (l *slot) enter(ctx context.Context) (*session, func(accepted bool), error) {
	for {
		s, err := l.acquire()
		if err != nil {
			return nil, nil, err
		}
		leave, err := s.enter(ctx)
		if err != nil {
			l.release(s)
			return nil, nil, err
		}
		if l.inUse(s) {
			return s, leave, nil
		}
		leave(false)
		l.release(s)
	}
}

func (l *slot) inUse(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !s.retired
}

func (l *slot) release(s *session) {
	l.mu.Lock()
	s.users--
	last := s.retired && s.users == 0
	l.mu.Unlock()
	if last {
		s.end()
	}
}

// renew replaces old by a session with a newly signed token. When somebody has
// replaced it already, that replacement stands: a burst of senders that all saw
// one expired token makes one new token.
func (l *slot) renew(old *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == old {
		l.retire()
	}
}

// reconnect replaces old by a session with the same token on a new connection:
// Apple counts how often a token changes, and the connection was at fault.
func (l *slot) reconnect(old *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == old {
		l.retire()
		l.current = newSession(l.config, l.host, old.token, l.dials)
	}
}

func (l *slot) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.retire()
	}
}

// retire takes the current session out of use and ends it once nobody sends on
// it. The lock is held.
func (l *slot) retire() {
	s := l.current
	l.current, s.retired = nil, true
	if s.users == 0 {
		s.end()
	}
}
