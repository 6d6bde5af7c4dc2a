package fcm

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/script"
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
	// Name tells faults apart in the records; "" for none.
	Name string
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
	s.script.Fault(m.when(), f)
	return nil
}

// Unscript takes back the faults of a name and reports whether there was one.
func (s *Server) Unscript(name string) bool {
	return s.script.Drop(func(f Fault) bool { return f.Name == name }) > 0
}

// ClearScript takes back all faults and holds; requests that are held go on.
func (s *Server) ClearScript() { s.script.Clear() }

// Hold stops matching requests after they were accepted, stored and recorded and
// before they are answered.
type Hold = script.Hold[Record]

// Hold stops the requests matched until Release. A test that stops a sender here
// has it between accept and answer.
func (s *Server) Hold(m Match) *Hold { return s.script.Hold(m.when()) }

// target is what a rule looks at.
type target struct {
	endpoint Endpoint
	token    string
}

func (m Match) when() script.When[target] {
	endpoint := cmp.Or(m.Endpoint, SendEndpoint)
	return script.When[target]{Nth: m.Nth, Times: m.Times, Is: func(t target) bool {
		return t.endpoint == endpoint && (m.Token == "" || m.Token == t.token)
	}}
}
