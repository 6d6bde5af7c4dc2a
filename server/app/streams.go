package app

import (
	"context"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/server/policy"
)

// goawayLeast is the least time after which a client comes back to a server that
// went away: a restart takes about as long.
const goawayLeast = time.Second

// streams are the open ones of this process: how many there are, whose they
// are, and how they are told to end.
type streams struct {
	limits policy.Limits
	// leaving is closed when the server goes away; window is set before.
	leaving chan struct{}

	mu      sync.Mutex
	devices map[string]map[*stream]struct{}
	// accounts counts.
	accounts map[string]int
	open     int
	left     bool
	window   time.Duration
	// none is closed once the server goes away and no stream is open.
	none chan struct{}
}

// stream is one open stream; end ends it with a reason.
type stream struct {
	device, account string
	end             context.CancelCauseFunc
}

func newStreams(l policy.Limits) *streams {
	return &streams{
		limits: l, leaving: make(chan struct{}), none: make(chan struct{}),
		devices: map[string]map[*stream]struct{}{}, accounts: map[string]int{},
	}
}

// enter counts one more stream; exit with what it returns. Errors:
// *StreamsError, ErrLeaving.
func (s *streams) enter(p policy.Principal, end context.CancelCauseFunc) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.left:
		return nil, ErrLeaving
	case len(s.devices[p.Installation]) >= s.limits.StreamsPerDevice:
		return nil, &StreamsError{What: "device", Max: int64(s.limits.StreamsPerDevice)}
	case s.accounts[p.Account] >= s.limits.StreamsPerAccount:
		return nil, &StreamsError{What: "account", Max: int64(s.limits.StreamsPerAccount)}
	}
	in := &stream{device: p.Installation, account: p.Account, end: end}
	if s.devices[in.device] == nil {
		s.devices[in.device] = map[*stream]struct{}{}
	}
	s.devices[in.device][in] = struct{}{}
	s.accounts[in.account]++
	s.open++
	return in, nil
}

func (s *streams) exit(in *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.devices[in.device], in)
	if len(s.devices[in.device]) == 0 {
		delete(s.devices, in.device)
	}
	if s.accounts[in.account]--; s.accounts[in.account] == 0 {
		delete(s.accounts, in.account)
	}
	if s.open--; s.open == 0 && s.left {
		close(s.none)
	}
}

// revoke ends the streams of devices that are none any more, also those that
// are blocked by a reader who does not read.
func (s *streams) revoke(devices []string) {
	if len(devices) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range devices {
		for in := range s.devices[d] {
			in.end(ErrRevoked)
		}
	}
}

// leave opens no more streams and tells the open ones to go.
func (s *streams) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return
	}
	s.left = true
	s.window = time.Duration(s.open) * time.Second / time.Duration(max(s.limits.ResumeRate, 1))
	if s.open == 0 {
		close(s.none)
	}
	close(s.leaving)
}

// spread is the time over which those who are sent away come back.
func (s *streams) spread() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window
}

// OpenStreams is how many streams are open.
func (a *App) OpenStreams() int {
	a.streams.mu.Lock()
	defer a.streams.mu.Unlock()
	return a.streams.open
}

// GoAway asks every watcher to come back later, spread over the time that
// taking them back needs, and refuses new ones. It returns once no stream is
// open, or with the error of the context.
func (a *App) GoAway(ctx context.Context) error {
	a.streams.leave()
	select {
	case <-a.streams.none:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
