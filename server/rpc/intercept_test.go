package rpc

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect/v2"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/policy"
)

// run calls one interceptor around a handler.
func run(ctx context.Context, ic connect.ServerInterceptor, handler func(context.Context) error) error {
	return ic(func(ctx context.Context, _ connect.Spec, _ connect.ServerStream) error { return handler(ctx) })(
		ctx, connect.Spec{Procedure: "/beckon.v1.TaskService/GetTask"}, nil)
}

func TestPanicsTellNothing(t *testing.T) {
	t.Parallel()
	chain := func(next connect.ServerFunc) connect.ServerFunc { return refuse(table())(recoverPanics(next)) }
	err := run(t.Context(), chain, func(context.Context) error { panic("secret") })
	e, ok := errors.AsType[*connect.Error](err)
	if !ok || e.Code() != connect.CodeInternal || e.Message() != textInternal {
		t.Error("a panic became", err)
	}
	if causeOf(err) == "" {
		t.Error("the log would not say that it was a panic")
	}
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { // a value to panic with
			t.Error("the abort of net/http became", v)
		}
	}()
	_ = run(t.Context(), chain, func(context.Context) error { panic(http.ErrAbortHandler) })
}

// TestAPrincipalInTheCallersContext: over the in-process transport values of
// the caller's context reach the handler, so authentication overwrites.
func TestAPrincipalInTheCallersContext(t *testing.T) {
	t.Parallel()
	e := &edge{}
	e.owned.Store(true)
	srv := connect.NewServer(e.authenticate)
	var seen policy.Principal
	srv.Register(connect.Method{
		Spec: connect.Spec{Procedure: "/x/Y"},
		Handler: func(ctx context.Context, _ connect.Spec, _ connect.ServerStream) error {
			seen = principalOf(ctx)
			return nil
		},
	})
	ctx := withPrincipal(t.Context(), policy.Principal{Kind: policy.Installation, Account: "stolen"})
	if err := srv.Call(ctx, "/x/Y", &connect.CallInfo{}, nil); err != nil {
		t.Fatal(err)
	}
	if seen != (policy.Principal{}) {
		t.Errorf("the handler saw %+v", seen)
	}
}

func TestContextErrorsHaveCodes(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	away, stop := context.WithCancelCause(t.Context())
	stop(connect.NewError(connect.CodeUnavailable, "going away"))
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want connect.Code
	}{
		"canceled":       {gone, context.Canceled, connect.CodeCanceled},
		"deadline":       {t.Context(), context.DeadlineExceeded, connect.CodeDeadlineExceeded},
		"going away":     {away, context.Canceled, connect.CodeUnavailable},
		"something else": {away, app.ErrScope, connect.CodeUnknown},
	} {
		if got := connect.CodeOf(run(c.ctx, codeContext, func(context.Context) error { return c.err })); got != c.want {
			t.Errorf("%s became %v", name, got)
		}
	}
}

func TestNoCallLastsForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := run(context.Background(), limitTime, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != callLimit {
			t.Error("ended after", time.Since(began), "with", err)
		}
	})
}
