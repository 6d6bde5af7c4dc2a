package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect/v2"
	"connectrpc.com/connect/v2/connectproto"
	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// callLimit ends every call: the longest wait a caller may ask for, and room
// for the work around it.
const callLimit = 75 * time.Second

// panicError keeps what a handler panicked with on this side of the wire.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("rpc: panic: %v", e.value) }

// recoverPanics turns a panic into an internal error. The abort that net/http
// knows passes.
func recoverPanics(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) (err error) {
		defer func() {
			if v := recover(); v != nil {
				if v == http.ErrAbortHandler { //nolint:errorlint,err113 // a value to panic with, not an error to wrap
					panic(v)
				}
				err = &panicError{value: v}
			}
		}()
		return next(ctx, spec, stream)
	}
}

// refuse gives every error its code and its ErrorInfo.
func refuse(rows []row) connect.ServerInterceptor {
	return func(next connect.ServerFunc) connect.ServerFunc {
		return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
			err := next(ctx, spec, stream)
			if err == nil {
				return nil
			}
			r := refusalOf(rows, err)
			if r.reason == reasonTooLarge && r.max == 0 {
				r.max = int64(readLimit(spec.Procedure))
			}
			noteReason(ctx, r.reason)
			return wireError(r, err)
		}
	}
}

// wireError is a refusal as Connect carries it.
func wireError(r refusal, cause error) *connect.Error {
	info := &v1.ErrorInfo{Reason: r.reason, Field: r.field, Max: r.max}
	if r.after > 0 {
		info.RetryAfter = durationpb.New(r.after)
	}
	out := connect.NewError(r.code, r.text).WithCause(cause)
	if detail, err := connectproto.NewErrorDetail(info); err == nil {
		out = out.WithDetail(detail)
	}
	return out
}

// limitTime caps every call; streams end by their own age.
func limitTime(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		if spec.StreamType != connect.StreamTypeUnary {
			return next(ctx, spec, stream)
		}
		ctx, cancel := context.WithTimeout(ctx, callLimit)
		defer cancel()
		return next(ctx, spec, stream)
	}
}

// errNoCredential: a call that needs one came without.
var errNoCredential = errors.New("rpc: no credential")

// authenticate turns the credential into a principal before the body is read.
// Whatever principal the caller's context holds is overwritten. A credential
// that is not good spends from the bucket of its source, so guesses cost.
func (e *edge) authenticate(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		info, _ := connect.CallInfoForServerContext(ctx)
		ctx = withPrincipal(ctx, policy.Principal{})
		if err := e.claimed(ctx, spec.Procedure); err != nil {
			return err
		}
		headers := info.RequestHeader().Values("Authorization")
		if len(headers) == 0 {
			return next(ctx, spec, stream)
		}
		p, err := e.auth.Authenticate(ctx, headers)
		if err != nil {
			if slow := e.rates.Source(info.PeerAddr); slow != nil {
				return slow
			}
			return err
		}
		notePrincipal(ctx, p)
		return next(withPrincipal(ctx, p), spec, stream)
	}
}

// claimed refuses everything but the claim while the server has no owner.
func (e *edge) claimed(ctx context.Context, procedure string) error {
	if e.owned.Load() || procedure == claimProcedure {
		return nil
	}
	if !e.app.Claimed(ctx) {
		return app.ErrUnclaimed
	}
	e.owned.Store(true) // claiming never reopens
	return nil
}

// authorise holds the principal's kind against the table.
func (e *edge) authorise(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		row, known := e.table[spec.Procedure]
		p := principalOf(ctx)
		switch {
		case !known:
			return connect.NewError(connect.CodeUnimplemented, "")
		case policy.Allowed(row.Kinds, p.Kind):
			err := next(ctx, spec, stream)
			if p.Kind == policy.Anonymous && errors.Is(err, app.ErrWrongPrincipal) {
				err = errNoCredential // the verb wanted somebody, and nobody came
			}
			return err
		case p.Kind == policy.Anonymous:
			return errNoCredential
		default:
			return app.ErrWrongPrincipal
		}
	}
}

// limitRate spends from the caller's bucket.
func (e *edge) limitRate(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		info, _ := connect.CallInfoForServerContext(ctx)
		if err := e.rates.take(principalOf(ctx), spec.Procedure, info.PeerAddr); err != nil {
			return err
		}
		return next(ctx, spec, stream)
	}
}

// codeContext gives a bare context error its code: without it a caller that
// went away would look like an unknown error to everything outside.
func codeContext(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		err := next(ctx, spec, stream)
		if err == nil {
			return nil
		}
		if _, ok := errors.AsType[*connect.Error](err); ok {
			return err
		}
		if why, ok := errors.AsType[*connect.Error](context.Cause(ctx)); ok && errors.Is(err, context.Canceled) {
			return why // the server is going away, and says so
		}
		switch {
		case errors.Is(err, context.Canceled):
			return connect.NewError(connect.CodeCanceled, "").WithCause(err)
		case errors.Is(err, context.DeadlineExceeded):
			return connect.NewError(connect.CodeDeadlineExceeded, "").WithCause(err)
		}
		return err
	}
}
