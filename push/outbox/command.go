package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Command is a request to move one row.
type Command interface{ command() }

// Claim takes a due row under a lease; a row whose lease has run out is taken
// over.
type Claim struct {
	Lease string
	Until time.Time
}

// Settle reports what the vendor said to a send made under Lease.
type Settle struct {
	Lease   string
	Verdict push.Verdict
	// Sent is the address the send went to, SentAt when it began.
	Sent   push.Address
	SentAt time.Time
	// Current is the address as stored now. It is looked at only where
	// NeedsAddress says so, so that settling a batch reads no address.
	Current AddressNow
	// Jitter in [0, 1) spreads retries.
	Jitter float64
}

// Skip reports that the re-read right before the send found it pointless.
type Skip struct {
	Lease string
	Why   Freshness
}

// Release gives a claimed row back unsent, due again at At. It costs no attempt.
type Release struct {
	Lease  string
	Reason string
	At     time.Time
}

// Reap gives back a row whose lease ran out. Orphaned says that the holder is
// known to be gone, as after a restart of the only process, and does not wait
// for the lease to end.
type Reap struct{ Orphaned bool }

// Supersede closes a row because its subject was handled or has a newer version.
type Supersede struct{ Reason string }

// Expire closes a row whose subject ended by its deadline.
type Expire struct{}

// Suppress closes a result nobody needs to be called for. Decisions are never
// suppressed.
type Suppress struct{ Reason string }

// Acknowledge lets an alert about a decision that was never sent wait until
// CardGrace after it was asked for: its device shows the card. Once that time
// is over it is sent like any other.
type Acknowledge struct{}

// Drop closes a row because its address is gone: revoked, replaced, account
// closed.
type Drop struct{ Reason string }

func (Claim) command()       {}
func (Settle) command()      {}
func (Skip) command()        {}
func (Release) command()     {}
func (Reap) command()        {}
func (Supersede) command()   {}
func (Expire) command()      {}
func (Suppress) command()    {}
func (Drop) command()        {}
func (Acknowledge) command() {}

// NeedsAddress reports whether settling v has to be decided against the
// address as it is stored now.
func NeedsAddress(v push.Verdict) bool { return v.Class == push.Dead }
