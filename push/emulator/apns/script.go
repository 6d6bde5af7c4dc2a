package apns

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/beckon-dev/beckon/push/emulator/script"
)

// Answer is how a request ends on the wire.
type Answer string

// The ways a request can end.
const (
	Replied    Answer = "replied"    // with its status
	NoReply    Answer = "none"       // the stream stays open and silent
	Reset      Answer = "reset"      // the stream is reset, nobody can say what became of it
	Refused    Answer = "refused"    // the stream is reset with REFUSED_STREAM: it was not looked at
	Unseen     Answer = "unseen"     // GOAWAY names a last stream below it: it was not looked at
	Closed     Answer = "closed"     // the connection is closed
	BlackHoled Answer = "black-hole" // the connection answers nothing more, pings neither
)

// Then is what becomes of a connection after an answer was given on it.
type Then string

// What can become of a connection. The zero value changes nothing.
const (
	ThenCloses  Then = "closes"  // it is closed behind the answer
	ThenSilence Then = "silence" // a black hole: it reads on and writes nothing more, pings neither
)

// Match picks the requests that a fault or a hold is for, among those that pass
// all checks: a faulty request gets its documented answer and is not counted.
type Match struct {
	Env   Env    // "" for both
	Token string // "" for every device
	Conn  int    // number of a connection, 0 for every one
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
	// Streams, if not 0, is how many streams the connection admits from now on. It
	// is announced ahead of the answer.
	Streams uint32
	// GoAway, if not "", sends GOAWAY with this reason as JSON ahead of the answer.
	// Its last stream is this request's or a later one that was looked at. With
	// Unseen it is below this request: streams that nobody looked at lie above it
	// and may be sent again elsewhere, and where a later one was looked at already,
	// this one is Refused instead. The connection ends with its last answer.
	GoAway Reason
	// Then is what becomes of the connection afterwards.
	Then Then
	// Name tells faults apart in the records; "" for none.
	Name string
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
	if err := f.check(); err != nil {
		return err
	}
	f.Header, f.Body = maps.Clone(f.Header), slices.Clone(f.Body)
	s.script.Fault(m.when(), f)
	return nil
}

func (f *Fault) check() error {
	answers := []Answer{"", Replied, NoReply, Reset, Refused, Unseen, Closed, BlackHoled}
	switch {
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("%w: status %d", ErrBadFault, f.Status)
	case len(f.Body) > maxFaultBody:
		return fmt.Errorf("%w: a body of more than %d bytes", ErrBadFault, maxFaultBody)
	case !slices.Contains(answers, f.Answer):
		return fmt.Errorf("%w: answer %q", ErrBadFault, f.Answer)
	case f.Then != "" && f.Then != ThenCloses && f.Then != ThenSilence:
		return fmt.Errorf("%w: then %q", ErrBadFault, f.Then)
	case f.Answer == Unseen && f.GoAway == "":
		return fmt.Errorf("%w: only GOAWAY can say that a stream is unseen", ErrBadFault)
	case f.Store && !f.looksAt():
		return fmt.Errorf("%w: what was not looked at cannot have been stored", ErrBadFault)
	}
	return nil
}

// looksAt tells whether the server may have done something about the request.
func (f *Fault) looksAt() bool { return f.Answer != Refused && f.Answer != Unseen }

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
	env   Env
	token string
	conn  int
}

func (m Match) when() script.When[target] {
	token := strings.ToLower(m.Token)
	return script.When[target]{Nth: m.Nth, Times: m.Times, Is: func(t target) bool {
		return (m.Env == "" || m.Env == t.env) && (token == "" || token == t.token) && (m.Conn == 0 || m.Conn == t.conn)
	}}
}
