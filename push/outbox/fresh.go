package outbox

import (
	"time"

	"github.com/beckon-dev/beckon/push"
)

// SubjectNow is the subject of a row as it is right before the send.
type SubjectNow struct {
	// Open: a person still has to look at it. False also when it is gone.
	Open bool
	// Version is its current version.
	Version uint32
	// Deadline is its current deadline; zero where it has none.
	Deadline time.Time
}

// AddressNow is an address as it is stored now, read by the row's account and
// address id.
type AddressNow struct {
	// Found: the account still has this address.
	Found bool
	// Owned: the global registry still names this address, by generation, as
	// the owner of its token. False once another account or installation
	// logged in on the same endpoint.
	Owned   bool
	Address push.Address
}

// Freshness is the outcome of the re-read; the zero value means send, else it
// is how the row ends.
type Freshness struct {
	State  push.State
	Reason string
}

// Send reports whether the row should be sent.
func (f Freshness) Send() bool { return f.State == "" }

// Fresh judges a claimed row against what is true right before its send, and
// returns the address to send to. Ownership comes first: a push for one
// account must not reach a phone another has logged in on. A token that was
// merely rotated is no reason to stop; the new one is used.
func Fresh(d push.Delivery, s SubjectNow, a AddressNow, now time.Time) (Freshness, push.Address) {
	addr := a.Address
	switch {
	case !a.Found:
		return Freshness{push.DeadAddress, ReasonAddressGone}, push.Address{}
	case !a.Owned:
		return Freshness{push.DeadAddress, ReasonMoved}, push.Address{}
	case addr.State == push.AddressDead:
		return Freshness{push.DeadAddress, ReasonAddressDead}, push.Address{}
	case addr.State == push.AddressDenied:
		return Freshness{push.Suppressed, ReasonDenied}, push.Address{}
	case s.Open && s.Version != d.Version:
		return Freshness{push.Superseded, ReasonNewerVersion}, push.Address{}
	case !s.Open:
		return Freshness{push.Superseded, ReasonHandled}, push.Address{}
	case !d.ExpiresAt.After(now), !s.Deadline.IsZero() && !s.Deadline.After(now):
		return Freshness{push.Expired, ReasonDeadline}, push.Address{}
	}
	if d.Env != "" && d.Generation == addr.Generation {
		addr.Env = d.Env
	}
	return Freshness{}, addr
}
