package push

import (
	"context"
	"time"
)

// Class is what a vendor's answer means for the row, the address and the lane.
type Class string

// Classes of verdicts.
const (
	// OK: the vendor has taken it.
	OK Class = "ok"
	// Backoff: try again later, for as long as it is worth saying.
	Backoff Class = "backoff"
	// SlowDevice: this device gets too much.
	SlowDevice Class = "slow_device"
	// SlowAll: we send too much or too fast to this vendor.
	SlowAll Class = "slow_all"
	// Cred: our credentials or configuration were refused. The lane pauses, the
	// row has lost no attempt, and no address may be judged by it.
	Cred Class = "cred"
	// Dead: the address is gone, if it was not registered again after DeadAt.
	Dead Class = "dead"
	// Suspect: the address was refused in a way that may be our configuration.
	// Package outbox judges which (Suspicion).
	Suspect Class = "suspect"
	// Bug: our request was wrong; sending it again cannot help.
	Bug Class = "bug"
	// Ambiguous: the request went out and no answer came back.
	Ambiguous Class = "ambiguous"
)

// ReasonNoEnvironment is the reason of a Suspect nobody was asked about: we have
// no way to the environment of the address.
const ReasonNoEnvironment = "environment_not_configured"

// Verdict is a vendor's answer to one send.
type Verdict struct {
	Class Class
	// Reason is the vendor's own word where there is one, else a short word of
	// ours. It never holds content or an address.
	Reason string
	// RetryAfter is the least time to wait, when the vendor gave one.
	RetryAfter time.Duration
	// DeadAt is when the vendor last knew the address to be dead; zero where
	// the vendor does not say.
	DeadAt time.Time
	// ProviderID is the id the vendor filed it under.
	ProviderID string
	// Unsent: nothing of the push has left, so it cannot be on a screen. After any
	// other Backoff it can: vendors have delivered what they answered with 503.
	Unsent bool
}

// Provider sends to one vendor. Implementations are safe for concurrent use.
type Provider interface {
	// Send makes one attempt and reports how it went; it never retries a
	// message on its own account, except where the vendor demands a fresh
	// credential for the same attempt. ctx bounds the attempt.
	Send(ctx context.Context, m Message) Verdict
}
