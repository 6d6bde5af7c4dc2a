package fcm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/journal"
)

// Answer is how a request ends on the wire.
type Answer string

// The ways a request can end.
const (
	Replied Answer = "replied" // with its status
	NoReply Answer = "none"    // the request stays open and silent
	Reset   Answer = "reset"   // the stream is reset; over HTTP/1.1 the connection is closed
	Closed  Answer = "closed"  // the connection is closed
)

// Endpoint is one of the two that senders talk to.
type Endpoint string

// The endpoints.
const (
	SendEndpoint  Endpoint = "send"  // messages:send
	TokenEndpoint Endpoint = "token" // access tokens
)

// Match picks the requests that a fault or a hold is for, among those that pass
// all checks: a faulty request gets its documented answer and is not counted.
type Match struct {
	// Endpoint, "" for SendEndpoint.
	Endpoint Endpoint
	// Token is a registration token or FID, "" for every one.
	Token string
	// Nth is the first one it is for, counted from 1 since it was scripted; 0 is 1.
	Nth int
	// Times is how many in a row; 0 is one, a negative number all later ones.
	Times int
}

// Fault is an answer that the emulator gives on demand. The zero value changes
// nothing.
type Fault struct {
	// Code may stand alone, Google's status and text are then taken.
	Code ErrorCode
	// Status, 0 for that of the Code, else for what the checks say (200). A status
	// without Code gives Google's error body without FcmError, as for a project
	// that does not exist or whose API is off.
	Status int
	// Message replaces the text of the error.
	Message string
	// Field adds a google.rpc.BadRequest about it, the shape of INVALID_ARGUMENT
	// that is not about the token.
	Field string
	// Quota adds a google.rpc.QuotaFailure.
	Quota Quota
	// RetryAfter is the header of that name as sent: "10", "600" or an HTTP date.
	RetryAfter string
	// Header has further response headers.
	Header map[string]string
	// Body replaces the JSON body, also that of a 200.
	Body []byte
	// Delay passes between store and answer.
	Delay time.Duration
	// Answer, "" for Replied.
	Answer Answer
	// Store hands the message to the phone although the sender does not hear that
	// it was accepted: the trap of the ambiguous answer (firebase/
	// firebase-admin-node#1248).
	Store bool
}

// ErrBadFault answers a script that contradicts itself.
var ErrBadFault = errors.New("fcm: bad fault")

// Script makes the emulator give the fault to the requests matched. Where several
// match, the one scripted first wins, and each counts the request.
func (s *Server) Script(m Match, f Fault) error {
	if f.Status == 0 && f.Code != "" {
		f.Status = f.Code.Status()
	}
	switch {
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("%w: status %d", ErrBadFault, f.Status)
	case f.Code != "" && f.Status == 200:
		return fmt.Errorf("%w: an error code with status 200", ErrBadFault)
	case f.Answer != "" && !slices.Contains([]Answer{Replied, NoReply, Reset, Closed}, f.Answer):
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
	r.match.Endpoint = cmp.Or(r.match.Endpoint, SendEndpoint)
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
func (s *script) next(endpoint Endpoint, token string) (fault *Fault, hold *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if !r.takes(endpoint, token) {
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

func (r *rule) takes(endpoint Endpoint, token string) bool {
	m := &r.match
	if m.Endpoint != endpoint || m.Token != "" && m.Token != token {
		return false
	}
	r.seen++
	first, times := max(m.Nth, 1), m.Times
	if times == 0 {
		times = 1
	}
	return r.seen >= first && (times < 0 || r.seen < first+times)
}
