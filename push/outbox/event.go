package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Event is one thing that happened to a row or, for AddressJudged and
// EnvLearned, that its address has to be told.
type Event interface{ event() }

// LeaseTaken puts the row into a worker's hands.
type LeaseTaken struct {
	Lease string
	Until time.Time
}

// LeaseLost says that the holder did not report in time.
type LeaseLost struct{}

// VendorAccepted ends a row well.
type VendorAccepted struct{ At time.Time }

// RetryPlanned says a send did not succeed and is repeated at At, under the
// same identities.
type RetryPlanned struct {
	At     time.Time
	Reason string
	// MaybeSent: the request went out, and no answer came or none that rules out
	// that the device shows it.
	MaybeSent bool
	// Env, when set, is tried next instead of the address's own.
	Env push.Env
	// Generation is the one the failed send went to.
	Generation uint64
}

// Returned gives the row back without counting an attempt.
type Returned struct {
	At     time.Time
	Reason string
	// Home makes the next send go to the address's own environment again: what
	// was learned from its refusal does not count.
	Home bool
}

// Held lets the row wait until At, because the device shows the card.
type Held struct{ At time.Time }

// Ended closes the row.
type Ended struct {
	At     time.Time
	State  push.State
	Reason string
	// Counted: a send led here. MaybeSent: that send may have arrived.
	Counted   bool
	MaybeSent bool
}

// AddressJudged asks for the address to be marked, by compare-and-set on its
// generation (see Mark). The row is untouched by it.
type AddressJudged struct {
	Address    string
	Generation uint64
	State      push.AddressState
	Reason     string
	DeadAt     time.Time
}

// EnvLearned asks for the environment that worked to be stored on the address,
// by the same compare-and-set.
type EnvLearned struct {
	Address    string
	Generation uint64
	Env        push.Env
}

func (LeaseTaken) event()     {}
func (LeaseLost) event()      {}
func (VendorAccepted) event() {}
func (RetryPlanned) event()   {}
func (Returned) event()       {}
func (Ended) event()          {}
func (Held) event()           {}
func (AddressJudged) event()  {}
func (EnvLearned) event()     {}
