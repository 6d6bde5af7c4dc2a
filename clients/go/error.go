package beckon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Reasons a program may want to act on. PROTOCOL.md has the whole list.
const (
	// ReasonLeaseLost: another worker, or nobody, holds the task now.
	ReasonLeaseLost = "LEASE_LOST"
	// ReasonDeniedBefore: the person has denied exactly this in this task.
	ReasonDeniedBefore = "DENIED_BEFORE"
	// ReasonKillSwitch: the person has stopped every agent of the account.
	ReasonKillSwitch = "KILL_SWITCH"
	// ReasonUnknownArtifact: the task does not have the artifact.
	ReasonUnknownArtifact = "UNKNOWN_ARTIFACT"
	// ReasonQuota: there is as much of it as may be.
	ReasonQuota = "QUOTA"
	// ReasonTaskEnded: the task is over.
	ReasonTaskEnded = "TASK_ENDED"
	// ReasonKeyReused: the key names another request already.
	ReasonKeyReused = "KEY_REUSED"
	// ReasonBadSecret: a code, link or digits that are not good, or not any more.
	ReasonBadSecret = "BAD_SECRET"
	// ReasonUnclaimed: nobody owns the server yet.
	ReasonUnclaimed = "UNCLAIMED"
	// ReasonRevoked: the credential was good once.
	ReasonRevoked = "REVOKED"
	// ReasonReused: a spent refresh token came back, so the server has ended
	// the installation: pair it again.
	ReasonReused = "REUSED"
	// ReasonStepUp: the person has to be present more strongly.
	ReasonStepUp = "STEP_UP"
	// ReasonUnreachable is our own: no server has answered.
	ReasonUnreachable = "UNREACHABLE"
)

// Error is a call that was refused or that reached nobody. Find it with
// errors.As; the connect error and its cause are in its chain.
type Error struct {
	// Code is the coarse kind.
	Code connect.Code
	// Reason is the stable word to act on; empty from servers that are not
	// Beckon, such as a proxy in between.
	Reason string
	// Field is the request field at fault, in proto names.
	Field string
	// Max is the bound that was passed.
	Max int64
	// RetryAfter is the earliest time at which the same call may succeed.
	RetryAfter time.Duration
	// Text is for people, written by the server.
	Text string

	cause error
}

// Error names what is known, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("beckon: ")
	switch {
	case e.Reason == ReasonStepUp:
		// Max is the step, a number for programs only.
		return "beckon: the person has to be present for this (" + ReasonStepUp + ")"
	case e.Text != "":
		b.WriteString(e.Text)
	default:
		b.WriteString(e.Code.String())
	}
	if e.Reason != "" {
		fmt.Fprintf(&b, " (%s", e.Reason)
		if e.Field != "" {
			b.WriteString(": " + e.Field)
		}
		if e.Max != 0 {
			fmt.Fprintf(&b, ", at most %d", e.Max)
		}
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap gives the error of the transport.
func (e *Error) Unwrap() error { return e.cause }

// Temporary reports whether the same call, with the same keys, may succeed
// later without anybody doing anything.
func (e *Error) Temporary() bool {
	return e.Code == connect.CodeUnavailable || e.Reason == ReasonUnreachable || e.RetryAfter > 0
}

// verdict reports that sending the same call again would be refused again. What
// is left is trouble of the server or the way to it, which loops wait out.
func (e *Error) verdict() bool {
	switch e.Code {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeResourceExhausted,
		connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		return false
	default:
		return e.Reason != ReasonUnreachable
	}
}

// ReasonOf gives the reason of an [Error] in err's chain, or "".
func ReasonOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

// errorOf makes the typed error of what a call ended with.
func errorOf(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	out := &Error{Code: codeOf(err), cause: err}
	ce, ok := errors.AsType[*connect.Error](err)
	if !ok {
		out.Text = err.Error()
		return out
	}
	out.Text = ce.Message()
	for _, detail := range ce.Details() {
		message, err := connectproto.UnmarshalErrorDetail(detail)
		if info, ok := message.(*v1.ErrorInfo); err == nil && ok {
			out.Reason, out.Field, out.Max = info.GetReason(), info.GetField(), info.GetMax()
			out.RetryAfter = info.GetRetryAfter().AsDuration()
		}
	}
	return out
}

func codeOf(err error) connect.Code {
	switch {
	case errors.Is(err, context.Canceled):
		return connect.CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return connect.CodeDeadlineExceeded
	default:
		return connect.CodeOf(err)
	}
}
