package push

import (
	"crypto/sha1" //nolint:gosec // UUID version 5 is defined over SHA-1; nothing secret depends on it.
	"encoding/hex"
	"time"
)

// State is where a delivery stands. Package outbox owns the transitions.
type State string

// States of a delivery. Pending and Retry wait for DueAt, Leased is in a
// worker's hands; all others are final.
const (
	Pending  State = "pending"
	Leased   State = "leased"
	Retry    State = "retry"
	Accepted State = "accepted"
	Rejected State = "rejected"
	// Doubted: the vendor refused the address, and whether that is the address or
	// our configuration is not known.
	Doubted     State = "suspect"
	DeadAddress State = "dead_address"
	Expired     State = "expired"
	Superseded  State = "superseded"
	Suppressed  State = "suppressed"
)

// Final reports whether nothing can happen to the delivery any more.
func (s State) Final() bool {
	switch s {
	case Pending, Leased, Retry:
		return false
	default:
		return true
	}
}

// Delivery is one intent to one address: the outbox row. It holds what is
// needed to claim it and to find its subject again, never text; text is
// rendered from the subject as it is at the moment of sending.
type Delivery struct {
	ID     string
	Intent string
	Kind   Kind
	Subject
	Account string
	// Address is the id of the address, Generation the one it had when the row
	// was planned.
	Address    string
	Generation uint64
	// Lane names the worker that sends it, so that one vendor's outage cannot
	// delay another's pushes.
	Lane string
	// Env, when set, is the environment to try instead of the address's own.
	Env Env

	State State
	// Reason says in one word why the row is where it is: the vendor's word for
	// a retry or refusal, ours for the rest. It never holds content.
	Reason string
	// Attempt counts own sends that the vendor could judge.
	Attempt int
	// MaybeSent is set once an attempt ended with no answer, with a failure of the
	// vendor's own, or with the worker that made it: the device may show it
	// already, under the same identity.
	MaybeSent bool

	DueAt      time.Time
	Lease      string
	LeaseUntil time.Time
	CreatedAt  time.Time
	ExpiresAt  time.Time
	// AcceptedAt is the vendor's acceptance; zero until then.
	AcceptedAt time.Time
	// HeldUntil is set on a row that waited because its device was proven to
	// show the thread; the row rang then unless its subject was closed.
	HeldUntil time.Time
	// EndedAt is when the row ended without having been accepted.
	EndedAt time.Time

	CollapseID string
	ProviderID string
}

// deliverySpace is the fixed name space of provider ids.
var deliverySpace = [16]byte{0x6b, 0x2f, 0x5d, 0x0c, 0x9a, 0x41, 0x4e, 0x57, 0xb8, 0x13, 0x72, 0xe9, 0x04, 0xd6, 0x3c, 0xaf}

// ProviderID is the id a row carries at the vendor: the UUID version 5 of the
// row id, so a resend after a crash is recognisably the same request.
func ProviderID(delivery string) string {
	h := sha1.New() //nolint:gosec // see the import
	h.Write(deliverySpace[:])
	h.Write([]byte(delivery))
	u := h.Sum(nil)[:16]
	u[6] = u[6]&0x0f | 0x50
	u[8] = u[8]&0x3f | 0x80
	s := hex.EncodeToString(u)
	return s[0:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:32]
}
