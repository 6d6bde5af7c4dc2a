package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/beckon-dev/beckon/sync/decision"
)

// Refusals by the verbs themselves; life cycles and the store have their own.
// server/rpc maps all of them to codes and reasons.
var (
	// ErrWrongPrincipal: this kind of caller may not do this.
	ErrWrongPrincipal = errors.New("app: wrong principal")
	// ErrBadToken: a credential that is not good, for whatever reason.
	ErrBadToken = errors.New("app: bad token")
	// ErrRevoked: a credential that was good once.
	ErrRevoked = errors.New("app: revoked")
	// ErrExpired: a credential that ended by time.
	ErrExpired = errors.New("app: expired")
	// ErrReused: a spent refresh token came back; the family has ended.
	ErrReused = errors.New("app: refresh token reused")
	// ErrUnclaimed: nobody owns this server yet.
	ErrUnclaimed = errors.New("app: server is not claimed")
	// ErrClaimed: the account has an owner; a link to it is a reset.
	ErrClaimed = errors.New("app: account is claimed")
	// ErrBadSecret: no such claim link, pairing offer or digits, or not any more.
	ErrBadSecret = errors.New("app: bad secret")
	// ErrScope: the agent's link does not allow this.
	ErrScope = errors.New("app: not in the agent's scopes")
	// ErrCeiling: the agent may not ask for actions of this class.
	ErrCeiling = errors.New("app: class above the agent's ceiling")
	// ErrKeyReused: an idempotency key came with another body.
	ErrKeyReused = errors.New("app: key reused with another body")
	// ErrDeniedBefore: this was denied in this task and the person has not
	// written since.
	ErrDeniedBefore = errors.New("app: denied before in this task")
	// ErrStale: the card has changed since it was looked at.
	ErrStale = errors.New("app: card has changed")
	// ErrClosed: the question does not wait for an answer any more.
	ErrClosed = errors.New("app: question is closed")
	// ErrKillSwitch: the person has stopped every agent of the account.
	ErrKillSwitch = errors.New("app: every agent of the account is stopped")
	// ErrHeld: somebody holds the task, so nothing new is done to the outside.
	ErrHeld = errors.New("app: task is held")
	// ErrNeedsGrant: no rule allows this action, so a person has to.
	ErrNeedsGrant = errors.New("app: action needs a grant")
	// ErrTaskEnded: the task has ended.
	ErrTaskEnded = errors.New("app: task has ended")
	// ErrUnknownArtifact: the task does not have this artifact, or its bytes
	// have to be sent.
	ErrUnknownArtifact = errors.New("app: unknown artifact")
	// ErrArtifactDamaged: the bytes on the medium are not those that were stored.
	ErrArtifactDamaged = errors.New("app: bytes of an artifact are damaged")
	// ErrNoAccount: the agent is linked to none or to several accounts and has
	// to say which.
	ErrNoAccount = errors.New("app: account not named")
	// ErrProof: a signature that is not the installation's.
	ErrProof = errors.New("app: proof does not verify")
	// ErrTapSpent: the tap token was used, or its installation is not what it
	// was minted for.
	ErrTapSpent = errors.New("app: tap token is not good here")
	// ErrLeaving: the server is going away and opens no more streams.
	ErrLeaving = errors.New("app: going away")
)

// FieldError: one field of the request is wrong. Reason is a stable word.
type FieldError struct {
	Field  string
	Reason string
	Max    int64
}

// Error implements error.
func (e *FieldError) Error() string { return fmt.Sprintf("app: %s: %s", e.Field, e.Reason) }

// QuotaError: the account has as many as it may have.
type QuotaError struct {
	What string
	Max  int64
}

// Error implements error.
func (e *QuotaError) Error() string { return fmt.Sprintf("app: at most %d %s", e.Max, e.What) }

// StepUpError: the person has to be present more strongly for this.
type StepUpError struct {
	Needed decision.Step
}

// Error implements error.
func (e *StepUpError) Error() string { return fmt.Sprintf("app: needs step %d", e.Needed) }

// RateError: too much in too little time.
type RateError struct {
	RetryAfter time.Duration
}

// Error implements error.
func (e *RateError) Error() string { return "app: rate exceeded" }

// StreamsError: so many streams are open already; close one. What is "device"
// or "account".
type StreamsError struct {
	What string
	Max  int64
}

// Error implements error.
func (e *StreamsError) Error() string {
	return fmt.Sprintf("app: at most %d streams of one %s", e.Max, e.What)
}
