package app

import (
	"context"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/server/store"
)

// ReportPresence is what a person has in front of them.
type ReportPresence struct {
	Thread     string
	Foreground bool
}

// ReportPresence notes that the calling device shows a thread to its person, or
// that it does not any more, and returns until when that counts; zero where
// nothing does. Nothing is stored: after a restart nobody is present, and
// everything rings at once. By any device. Errors: ErrWrongPrincipal,
// ErrRevoked, store.ErrNotFound.
func (a *App) ReportPresence(ctx context.Context, p policy.Principal, c ReportPresence) (time.Time, error) {
	err := a.readAccount(ctx, p, func(tx *store.Read, _ store.Installation) error {
		if c.Thread == "" {
			return nil
		}
		if _, err := ownAccount(p, store.KindThread, c.Thread); err != nil {
			return err
		}
		_, err := tx.Thread(c.Thread)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	now := a.clock().UTC().Truncate(time.Microsecond)
	if !c.Foreground || c.Thread == "" {
		a.screens.clear(p.Installation)
		return time.Time{}, nil
	}
	until := now.Add(a.limits.PresenceLife)
	a.screens.show(p.Installation, screen{thread: c.Thread, until: until}, now)
	return until, nil
}

// screens is which thread each device was proven to show. Connections, polls and
// agents leave no trace here: a socket stays open in a pocket.
type screens struct {
	mu       sync.Mutex
	byDevice map[string]screen
}

type screen struct {
	thread string
	until  time.Time
}

// sweepFrom is how many devices are noted before those that are over are looked
// for.
const sweepFrom = 1024

func newScreens() *screens { return &screens{byDevice: map[string]screen{}} }

func (s *screens) show(device string, at screen, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byDevice) >= sweepFrom {
		for d, old := range s.byDevice {
			if !old.until.After(now) {
				delete(s.byDevice, d)
			}
		}
	}
	s.byDevice[device] = at
}

func (s *screens) clear(device string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byDevice, device)
}

// shows reports whether a device shows a thread at now.
func (s *screens) shows(device, thread string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.byDevice[device]
	return ok && at.thread == thread && at.until.After(now)
}
