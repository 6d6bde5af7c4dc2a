package rpc

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/credential"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/changelog"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/draft"
	"github.com/beckon-dev/beckon/sync/effect"
	"github.com/beckon-dev/beckon/sync/proof"
	"github.com/beckon-dev/beckon/sync/task"
	"github.com/beckon-dev/beckon/sync/thread"
)

// Reasons that are words of the edge itself. All others stand in the table.
const (
	reasonNoCredential = "NO_CREDENTIAL" //nolint:gosec // a word, not a credential
	reasonBadToken     = "BAD_TOKEN"
	reasonExpired      = "EXPIRED"
	reasonInternal     = "INTERNAL"
	reasonMalformed    = "MALFORMED"
	reasonTooLarge     = "MESSAGE_TOO_LARGE"
	reasonCanceled     = "CANCELED"
	reasonDeadline     = "DEADLINE"
	reasonUnknownCall  = "UNKNOWN_PROCEDURE"
	reasonInvalid      = "INVALID"
	reasonLimit        = "LIMIT"
	reasonMissing      = "MISSING"
	reasonDiskFull     = "DISK_FULL"
)

// Texts of refusals that tell nobody more than another would.
const (
	textCredential = "the credential is missing or not good" //nolint:gosec // as above
	textNotFound   = "there is no such thing for this caller"
	textInternal   = "something went wrong on the server"
)

// row is what one refusal means on the wire.
type row struct {
	is     error
	code   connect.Code
	reason string
	text   string
	field  string
}

// table is every refusal that is a plain error. Typed ones carry more and are
// in refusalOf. A test fails when a refusal of the packages below has no row.
func table() []row {
	const (
		unauthenticated = connect.CodeUnauthenticated
		denied          = connect.CodePermissionDenied
		invalid         = connect.CodeInvalidArgument
		precondition    = connect.CodeFailedPrecondition
		exhausted       = connect.CodeResourceExhausted
	)
	return []row{
		{is: errNoCredential, code: unauthenticated, reason: reasonNoCredential, text: textCredential},
		{is: app.ErrBadToken, code: unauthenticated, reason: reasonBadToken, text: textCredential},
		{is: app.ErrExpired, code: unauthenticated, reason: reasonExpired, text: textCredential},
		{is: app.ErrRevoked, code: unauthenticated, reason: "REVOKED", text: textCredential},
		{is: app.ErrReused, code: unauthenticated, reason: "REUSED", text: textCredential},
		{is: app.ErrBadSecret, code: unauthenticated, reason: "BAD_SECRET", text: "the secret is not good, or not any more"},
		{is: app.ErrTapSpent, code: unauthenticated, reason: "TAP_SPENT", text: "this button is not good any more: open the card"},

		{is: app.ErrWrongPrincipal, code: denied, reason: "WRONG_PRINCIPAL", text: "this kind of caller may not do that"},
		{is: app.ErrScope, code: denied, reason: "SCOPE", text: "the agent's link does not allow that"},
		{is: app.ErrCeiling, code: denied, reason: "CEILING", text: "the agent may not ask for actions of this class"},
		{is: app.ErrProof, code: denied, reason: "BAD_PROOF", text: "the proof does not belong to this installation and act"},
		{is: proof.ErrMalformed, code: denied, reason: "BAD_PROOF", text: "the proof is not a signature"},
		{is: proof.ErrMismatch, code: denied, reason: "BAD_PROOF", text: "the proof does not belong to this key and act"},

		{is: store.ErrNotFound, code: connect.CodeNotFound, reason: "NOT_FOUND", text: textNotFound},

		{is: task.ErrEmptyWait, code: invalid, reason: reasonMissing, text: "a wait set names a decision or an end", field: "wait"},
		{is: app.ErrNoAccount, code: invalid, reason: reasonMissing, text: "the agent has to say which account it means", field: "account_id"},
		{is: app.ErrPage, code: invalid, reason: reasonInvalid, text: "start the bootstrap over", field: "page"},
		{is: proof.ErrPublicKey, code: invalid, reason: "BAD_KEY", text: "a key is an uncompressed P-256 point of 65 bytes"},
		{is: proof.ErrDigest, code: invalid, reason: reasonInvalid, text: "a digest has 32 bytes"},
		{is: proof.ErrWeakSecret, code: invalid, reason: "BAD_SECRET", text: "the secret is too short"},
		{is: changelog.ErrMalformed, code: invalid, reason: reasonMalformed, text: "the stamp is not of this server"},
		{is: changelog.ErrForbidden, code: connect.CodeNotFound, reason: "NOT_FOUND", text: textNotFound},

		{is: task.ErrLeaseLost, code: precondition, reason: "LEASE_LOST", text: "the lease is not the task's any more; nothing was changed"},
		{is: task.ErrNotClaimable, code: precondition, reason: "NOT_CLAIMABLE", text: "the task is not ready, or held"},
		{is: thread.ErrNoAgent, code: precondition, reason: "NO_AGENT", text: "nobody is there to read it; the text was not kept"},
		{is: draft.ErrLarge, code: invalid, reason: reasonLimit, text: "the draft is too large", field: "text"},
		{is: draft.ErrFull, code: precondition, reason: "DRAFT_FULL", text: "there are as many texts as there may be: take one of them up"},
		{is: app.ErrUnclaimed, code: precondition, reason: "UNCLAIMED", text: "claim the server first, by the link it printed"},
		{is: app.ErrClaimed, code: precondition, reason: "CLAIMED", text: "the account has an owner: reset it instead"},
		{is: app.ErrKillSwitch, code: precondition, reason: "KILL_SWITCH", text: "the person has stopped every agent of the account"},
		{is: app.ErrDeniedBefore, code: precondition, reason: "DENIED_BEFORE", text: "this was denied in this task and the person has not written since"},
		{is: app.ErrStale, code: precondition, reason: "STALE", text: "the card has changed: look again"},
		{is: app.ErrClosed, code: precondition, reason: "CLOSED", text: "the question does not wait for an answer any more"},
		{is: app.ErrTaskEnded, code: precondition, reason: "TASK_ENDED", text: "the task has ended"},

		{is: app.ErrUnknownArtifact, code: precondition, reason: "UNKNOWN_ARTIFACT", text: "the task does not have this artifact: upload it first"},
		{is: app.ErrHeld, code: precondition, reason: "HELD", text: "the task is held, so nothing new is done"},
		{is: app.ErrNeedsGrant, code: precondition, reason: "NEEDS_GRANT", text: "no rule allows this action: ask the person"},
		{is: decision.ErrNoGrant, code: connect.CodeNotFound, reason: "NOT_FOUND", text: textNotFound},
		{is: decision.ErrGrantUsed, code: precondition, reason: "GRANT_USED", text: "the grant was used; it permits one effect"},
		{is: decision.ErrGrantVoid, code: precondition, reason: "GRANT_VOID", text: "the grant was taken back, or its task ended"},
		{is: decision.ErrGrantExpired, code: precondition, reason: "GRANT_EXPIRED", text: "the grant's time has passed"},
		{is: decision.ErrGrantDiffers, code: precondition, reason: "GRANT_DIFFERS", text: "the grant is for another action, byte for byte"},
		{is: effect.ErrGeneration, code: precondition, reason: "UNKNOWN_GENERATION", text: "no such generation of the effect was begun"},
		{is: effect.ErrExit, code: precondition, reason: "NOT_OFFERED", text: "this way out is not offered any more"},
		{is: effect.ErrOtherAction, code: connect.CodeAborted, reason: "KEY_REUSED", text: "the effect key stands for another action"},

		{is: app.ErrKeyReused, code: connect.CodeAborted, reason: "KEY_REUSED", text: "the key was used with another body"},

		{is: store.ErrDiskFull, code: exhausted, reason: reasonDiskFull, text: "the server's disk is full; nothing was changed"},
		{is: app.ErrHeldBack, code: connect.CodeUnavailable, reason: "HELD_BACK", text: "one before it in its lane has to be retried"},
		{is: app.ErrLeaving, code: connect.CodeUnavailable, reason: "UNAVAILABLE", text: "the server is going away"},
		{is: errStalled, code: connect.CodeDeadlineExceeded, reason: "STALLED", text: "the stream was not read"},
		{is: errSlow, code: connect.CodeDeadlineExceeded, reason: "STALLED", text: "the stream was not written in its time"},
		{is: store.ErrClosed, code: connect.CodeUnavailable, reason: "UNAVAILABLE", text: "the server is going away"},

		{is: context.Canceled, code: connect.CodeCanceled, reason: reasonCanceled, text: "the caller went away"},
		{is: context.DeadlineExceeded, code: connect.CodeDeadlineExceeded, reason: reasonDeadline, text: "the time for this call is over"},
	}
}

// refusal is an error as it goes over the wire: a code, a text written by us,
// and the one ErrorInfo. The zero value is an internal error.
type refusal struct {
	code   connect.Code
	reason string
	text   string
	field  string
	max    int64
	after  time.Duration
}

// internal is what is said of an error nobody has thought of.
func internal() refusal {
	return refusal{code: connect.CodeInternal, reason: reasonInternal, text: textInternal}
}

// refusalOf looks an error up. What is not in the table is internal, and none
// of its text leaves the server.
func refusalOf(rows []row, err error) refusal {
	if r, ok := typedRefusal(err); ok {
		return r
	}
	for _, row := range rows {
		if errors.Is(err, row.is) {
			return refusal{code: row.code, reason: row.reason, text: row.text, field: row.field}
		}
	}
	if r, ok := transportRefusal(err); ok {
		return r
	}
	return internal()
}

// Describe gives the code and the reason of a refusal in the words of the wire,
// for doors that do not speak Connect, with the time after which the same call
// may succeed where there is one.
func Describe(err error) (code, reason string, after time.Duration) {
	r := refusalOf(table(), err)
	return r.code.String(), r.reason, r.after
}

// typedRefusal reads the errors that say which field, bound or time.
func typedRefusal(err error) (refusal, bool) {
	if e, ok := errors.AsType[*task.CheckpointConflictError](err); ok {
		return refusal{
			code: connect.CodeAborted, reason: "CHECKPOINT_CONFLICT", text: "max is the newest version",
			field: "checkpoint.expected_version", max: int64(e.Version),
		}, true
	}
	if e, ok := errors.AsType[*decision.InvalidError](err); ok {
		return badField(e.Field, e.Reason, 0), true
	}
	if e, ok := errors.AsType[*app.FieldError](err); ok {
		return badField(e.Field, e.Reason, e.Max), true
	}
	if e, ok := errors.AsType[*proof.InputError](err); ok {
		r := badField(e.Field, string(e.Reason), 0)
		if text := e.Reason.Sentence(); text != "" {
			r.text = text
		}
		return r, true
	}
	if e, ok := errors.AsType[*app.QuotaError](err); ok {
		return refusal{
			code: connect.CodeResourceExhausted, reason: "QUOTA", text: "the account has as many as it may have",
			field: e.What, max: e.Max,
		}, true
	}
	if e, ok := errors.AsType[*app.StreamsError](err); ok {
		return refusal{
			code: connect.CodeResourceExhausted, reason: "STREAMS", text: "too many streams are open",
			field: e.What, max: e.Max,
		}, true
	}
	if e, ok := errors.AsType[*app.StepUpError](err); ok {
		return refusal{
			code: connect.CodePermissionDenied, reason: "STEP_UP",
			text: "the person has to be present: unlock this device, or use another one", max: int64(e.Needed),
		}, true
	}
	if e, ok := errors.AsType[*app.RateError](err); ok {
		return tooFast(e.RetryAfter), true
	}
	if isCredential(err) {
		return refusal{code: connect.CodeUnauthenticated, reason: reasonBadToken, text: textCredential}, true
	}
	return validationRefusal(err)
}

func badField(field, reason string, bound int64) refusal {
	return refusal{
		code: connect.CodeInvalidArgument, reason: reason, text: "the request cannot be carried out as it is",
		field: field, max: bound,
	}
}

func tooFast(after time.Duration) refusal {
	return refusal{code: connect.CodeResourceExhausted, reason: "RATE", text: "too much in too little time", after: after}
}

func isCredential(err error) bool {
	return errors.Is(err, credential.ErrMalformed) || errors.Is(err, credential.ErrChecksum) || errors.Is(err, credential.ErrKind)
}

// transportRefusal gives the refusals of the transport itself a reason. Their
// own texts are about bytes and limits, so one of ours stands in.
func transportRefusal(err error) (refusal, bool) {
	e, ok := errors.AsType[*connect.Error](err)
	if !ok || e.IsRemote() {
		return refusal{}, false
	}
	switch e.Code() {
	case connect.CodeInvalidArgument:
		return refusal{code: e.Code(), reason: reasonMalformed, text: "the message cannot be read"}, true
	case connect.CodeResourceExhausted:
		return refusal{code: e.Code(), reason: reasonTooLarge, text: "the message is too large"}, true
	case connect.CodeUnimplemented:
		return refusal{code: e.Code(), reason: reasonUnknownCall, text: "there is no such call"}, true
	case connect.CodeCanceled:
		return refusal{code: e.Code(), reason: reasonCanceled, text: "the caller went away"}, true
	case connect.CodeDeadlineExceeded:
		return refusal{code: e.Code(), reason: reasonDeadline, text: "the time for this call is over"}, true
	case connect.CodeUnavailable:
		return refusal{code: e.Code(), reason: "UNAVAILABLE", text: "the server is going away"}, true
	default:
		return refusal{}, false
	}
}
