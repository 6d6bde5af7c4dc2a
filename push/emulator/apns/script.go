package apns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// Answer is how a request ends on the wire.
type Answer string

// The ways a request can end.
const (
	Replied    Answer = "replied"    // with its status
	NoReply    Answer = "none"       // the stream stays open and silent
	Reset      Answer = "reset"      // the stream is reset
	Closed     Answer = "closed"     // the connection is closed
	BlackHoled Answer = "black-hole" // the connection answers nothing more, pings neither
)

// Match picks the requests that a fault or a hold is for, among those that pass
// all checks: a faulty request gets its documented answer and is not counted.
type Match struct {
	Env   Env    // "" for both
	Token string // "" for every device
	// Nth is the first one it is for, counted from 1 since it was scripted; 0 is 1.
	Nth int
	// Times is how many in a row; 0 is one, a negative number all later ones.
	Times int
}

// Fault is an answer that the emulator gives on demand. The zero value changes
// nothing.
type Fault struct {
	// Status, 0 for what the checks say (200). Reason may stand alone, Apple's
	// status is then taken.
	Status int
	Reason Reason
	// Timestamp goes into the body of a 410.
	Timestamp time.Time
	// Header has further response headers, such as Retry-After.
	Header map[string]string
	// Body replaces the JSON body, for the answers of a proxy on the way.
	Body []byte
	// Delay passes between store and answer.
	Delay time.Duration
	// Answer, "" for Replied.
	Answer Answer
	// Store hands the push to the phone although the sender does not hear that it
	// was accepted: the trap of the ambiguous answer.
	Store bool
}

// ErrBadFault answers a script that contradicts itself.
var ErrBadFault = errors.New("apns: bad fault")

// maxFaultBody keeps a scripted answer within one HTTP/2 frame.
const maxFaultBody = 16 << 10

// Script makes the emulator give the fault to the requests matched. Where several
// match, the one scripted first wins, and each counts the request.
func (s *Server) Script(m Match, f Fault) error {
	if f.Status == 0 && f.Reason != "" {
		f.Status = f.Reason.Status()
	}
	switch {
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("%w: status %d", ErrBadFault, f.Status)
	case len(f.Body) > maxFaultBody:
		return fmt.Errorf("%w: a body of more than %d bytes", ErrBadFault, maxFaultBody)
	case f.Answer != "" && !slices.Contains([]Answer{Replied, NoReply, Reset, Closed, BlackHoled}, f.Answer):
		return fmt.Errorf("%w: answer %q", ErrBadFault, f.Answer)
	}
	f.Header, f.Body = maps.Clone(f.Header), slices.Clone(f.Body)
	s.script.add(&rule{match: m, fault: f})
	return nil
}

// ClearScript takes back all faults and holds; requests that are held go on.
func (s *Server) ClearScript() { s.script.clear() }

// Hold stops matching requests after they were accepted, stored and recorded and
// before they are answered.
type Hold struct {
	held    *journal.Journal[Record]
	release chan struct{}
	once    sync.Once

	mu   sync.Mutex
	seen int
}

// Hold stops the requests matched until Release. A test that stops a sender here
// has it between accept and answer.
func (s *Server) Hold(m Match) *Hold {
	h := &Hold{held: journal.New[Record](nil, 0), release: make(chan struct{})}
	s.script.add(&rule{match: m, hold: h})
	return h
}

// Reached blocks until a further request is held and returns its record; each
// request is returned once. The error is that of ctx.
func (h *Hold) Reached(ctx context.Context) (Record, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	rec, next, err := h.held.Next(ctx, h.seen)
	h.seen = next
	return rec, err
}

// Release lets the requests go on, also those that come later.
func (h *Hold) Release() { h.once.Do(func() { close(h.release) }) }

func (h *Hold) wait(ctx context.Context, rec Record) {
	h.held.Append(rec)
	select {
	case <-h.release:
	case <-ctx.Done():
	}
}

// script has the rules in the order they were made.
type script struct {
	mu    sync.Mutex
	rules []*rule
}

type rule struct {
	match Match
	fault Fault
	hold  *Hold // a rule is a hold or a fault
	seen  int
}

func (s *script) add(r *rule) {
	r.match.Token = strings.ToLower(r.match.Token)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, r)
}

func (s *script) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if r.hold != nil {
			r.hold.Release()
		}
	}
	s.rules = nil
}

// next counts an accepted request and returns the fault and the hold for it.
func (s *script) next(env Env, token string) (fault *Fault, hold *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if !r.takes(env, token) {
			continue
		}
		switch {
		case r.hold != nil && hold == nil:
			hold = r.hold
		case r.hold == nil && fault == nil:
			fault = &r.fault
		}
	}
	return fault, hold
}

func (r *rule) takes(env Env, token string) bool {
	m := &r.match
	if m.Env != "" && m.Env != env || m.Token != "" && m.Token != token {
		return false
	}
	r.seen++
	first, times := max(m.Nth, 1), m.Times
	if times == 0 {
		times = 1
	}
	return r.seen >= first && (times < 0 || r.seen < first+times)
}
