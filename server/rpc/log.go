package rpc

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/server/policy"
)

// Call is what is known of one call once it has ended, without any content.
type Call struct {
	Procedure string
	// Code is the wire's word, "ok" for success; Reason is empty then.
	Code, Reason string
	Kind         policy.Kind
	Duration     time.Duration
}

type noteKey struct{}

// noted is what the interceptors inside tell the one that writes the line.
type noted struct {
	principal policy.Principal
	reason    string
}

func notePrincipal(ctx context.Context, p policy.Principal) {
	if n, ok := ctx.Value(noteKey{}).(*noted); ok {
		n.principal = p
	}
}

func noteReason(ctx context.Context, reason string) {
	if n, ok := ctx.Value(noteKey{}).(*noted); ok {
		n.reason = reason
	}
}

// HeaderRequestID names a call in the answer and in the log.
const HeaderRequestID = "Beckon-Request-Id"

// logCalls writes one line for each call: who as a keyed hash, what came of it
// and how long it took. The cause of an internal error is logged with its type
// only, since its text could hold anything.
func (e *edge) logCalls(next connect.ServerFunc) connect.ServerFunc {
	return func(ctx context.Context, spec connect.Spec, stream connect.ServerStream) error {
		began := e.now()
		n := &noted{}
		id := rand.Text()
		if info, ok := connect.CallInfoForServerContext(ctx); ok {
			info.ResponseHeader().Set(HeaderRequestID, id)
		}
		err := next(context.WithValue(ctx, noteKey{}, n), spec, stream)
		call := Call{
			Procedure: e.known(spec.Procedure), Code: "ok", Reason: n.reason,
			Kind: n.principal.Kind, Duration: e.now().Sub(began),
		}
		if err != nil {
			call.Code = connect.CodeOf(err).String()
		}
		e.observe(call)
		e.log.LogAttrs(ctx, levelOf(err), "call",
			slog.String("request", id), slog.String("procedure", call.Procedure),
			slog.String("code", call.Code), slog.String("reason", call.Reason),
			slog.String("kind", call.Kind.String()), slog.String("caller", e.tag(n.principal.ID())),
			slog.String("account", e.tag(n.principal.Account)), slog.Float64("duration_ms", float64(call.Duration.Microseconds())/1000),
			slog.String("cause", causeOf(err)))
		return err
	}
}

// known keeps what a caller made up out of logs and labels.
func (e *edge) known(procedure string) string {
	if _, ok := e.table[procedure]; !ok {
		return "unknown"
	}
	return procedure
}

func levelOf(err error) slog.Level {
	if err == nil {
		return slog.LevelInfo
	}
	switch connect.CodeOf(err) {
	case connect.CodeInternal, connect.CodeUnknown, connect.CodeDataLoss:
		return slog.LevelError
	default:
		return slog.LevelInfo
	}
}

// tag is a name that means something only beside others of the same key.
func (e *edge) tag(id string) string {
	if id == "" {
		return ""
	}
	h := hmac.New(sha256.New, e.logKey)
	h.Write([]byte(id))
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// causeOf is the chain of types behind an internal error.
func causeOf(err error) string {
	if err == nil || connect.CodeOf(err) != connect.CodeInternal {
		return ""
	}
	var out strings.Builder
	for err != nil {
		if _, wire := err.(*connect.Error); !wire { //nolint:errorlint // every link is looked at in turn
			out.WriteString(fmt.Sprintf("%T ", err))
		}
		err = errors.Unwrap(err)
	}
	return out.String()
}
