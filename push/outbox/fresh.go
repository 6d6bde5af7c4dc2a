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
// is how the row ends or when to look again.
type Freshness struct {
	State  push.State
	Reason string
	// Again gives the row back until then: it cannot be judged yet.
	Again time.Time
}

// Send reports whether the row should be sent.
func (f Freshness) Send() bool { return f.State == "" && f.Again.IsZero() }

// Fresh judges a claimed row against what is true right before its send, and
// returns the address to send to. Ownership comes first: a push for one
// account must not reach a phone another has logged in on. A token that was
// merely rotated is no reason to stop; the new one is used.
func Fresh(d push.Delivery, s SubjectNow, a AddressNow, now time.Time) (Freshness, push.Address) {
	addr := a.Address
	switch {
	case !a.Found:
		return Freshness{State: push.DeadAddress, Reason: ReasonAddressGone}, push.Address{}
	case !a.Owned:
		return Freshness{State: push.DeadAddress, Reason: ReasonMoved}, push.Address{}
	case addr.State == push.AddressDead:
		return Freshness{State: push.DeadAddress, Reason: ReasonAddressDead}, push.Address{}
	case addr.State == push.AddressDenied:
		return Freshness{State: push.Suppressed, Reason: ReasonDenied}, push.Address{}
	case s.Open && s.Version != d.Version:
		return Freshness{State: push.Superseded, Reason: ReasonNewerVersion}, push.Address{}
	case !s.Open:
		return Freshness{State: push.Superseded, Reason: ReasonHandled}, push.Address{}
	case !d.ExpiresAt.After(now), !s.Deadline.IsZero() && !s.Deadline.After(now):
		return Freshness{State: push.Expired, Reason: ReasonDeadline}, push.Address{}
	}
	if d.Env != "" && d.Generation == addr.Generation {
		addr.Env = d.Env
	}
	return Freshness{}, addr
}

// settleWait is how long a withdrawal waits for its alert to be settled.
const settleWait = time.Second

// FreshWithdrawal judges a claimed withdrawal. alerts are the rows of its
// subject to the same address; open says that the subject is wanted again.
func FreshWithdrawal(d push.Delivery, open bool, alerts []push.Delivery, a AddressNow, now time.Time) (Freshness, push.Address) {
	f, addr := Fresh(d, SubjectNow{Open: true, Version: d.Version}, a, now)
	if !f.Send() {
		return f, addr
	}
	if open {
		return Freshness{State: push.Superseded, Reason: ReasonOpenAgain}, push.Address{}
	}
	waits := false
	for _, alert := range alerts {
		if alert.State == push.Accepted || alert.State.Final() && alert.MaybeSent {
			return f, addr
		}
		waits = waits || !alert.State.Final()
	}
	if waits {
		return Freshness{Reason: ReasonAlertOpen, Again: now.Add(settleWait)}, push.Address{}
	}
	return Freshness{State: push.Superseded, Reason: ReasonNotShown}, push.Address{}
}
