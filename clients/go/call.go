package beckon

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect/v2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/beckon-dev/beckon/proto/gen/beckon/v1/beckonv1connect"
)

// Retry says how a call is repeated when nobody has answered it. A repeat is
// byte for byte the same request, so its idempotency key, claim id or answer
// key makes it the same act.
type Retry struct {
	// Attempts is how often a call is sent at most; 0 means 4.
	Attempts int
	// Base is the longest wait before the first repeat; it doubles each time.
	// 0 means 100 ms.
	Base time.Duration
	// Timeout ends one attempt, beside the wait that the call itself asks for;
	// 0 means 15 s.
	Timeout time.Duration
}

func (r Retry) withDefaults() Retry {
	if r.Attempts <= 0 {
		r.Attempts = 4
	}
	if r.Base <= 0 {
		r.Base = 100 * time.Millisecond
	}
	if r.Timeout <= 0 {
		r.Timeout = 15 * time.Second
	}
	return r
}

// wait is the pause before repeat n, with full jitter so that many clients of
// one restarted server do not come back in step.
func (r Retry) wait(n int) time.Duration {
	most := min(r.Base<<min(n, 10), 2*time.Second)
	return rand.N(most) + 1 //nolint:gosec // jitter is no secret
}

// pause waits for d or for the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// credentials give each call its token.
type credentials interface {
	// token is what to send; empty for nothing.
	token(ctx context.Context) (string, error)
	// refused hears that the server did not take a token, and reports whether
	// there is another one now.
	refused(ctx context.Context, token string) (bool, error)
}

// anonymous is for the calls that prove themselves by their body.
type anonymous struct{}

func (anonymous) token(context.Context) (string, error)         { return "", nil }
func (anonymous) refused(context.Context, string) (bool, error) { return false, nil }

// fixed is one token and no other.
type fixed string

func (f fixed) token(context.Context) (string, error)       { return string(f), nil }
func (fixed) refused(context.Context, string) (bool, error) { return false, nil }

// once lists the calls whose repeat would be another act, or would be refused
// because the first one succeeded. They are repeated only if they never left.
func once(procedure string) bool {
	switch procedure {
	case beckonv1connect.PairingServiceClaimServerProcedure,
		beckonv1connect.PairingServiceOfferPairingProcedure,
		beckonv1connect.PairingServiceRedeemPairingProcedure,
		beckonv1connect.PairingServiceConfirmPairingProcedure,
		beckonv1connect.PairingServiceUnlockTerminalProcedure,
		beckonv1connect.AgentServiceIssueKeyProcedure,
		beckonv1connect.TokenServiceElevateProcedure:
		return true
	default:
		return false
	}
}

// caller is the interceptor all calls go through.
type caller struct {
	retry Retry
	creds credentials
}

func (c caller) intercept(next connect.ClientFunc) connect.ClientFunc {
	return func(ctx context.Context, spec connect.Spec) (connect.ClientStream, error) {
		if spec.StreamType != connect.StreamTypeUnary {
			return c.open(ctx, spec, next)
		}
		return &call{caller: c, ctx: ctx, spec: spec, next: next}, nil
	}
}

// call is one unary call with its repeats. It opens the real stream only when
// the answer is asked for, since by then it knows the request.
type call struct {
	caller

	ctx     context.Context
	spec    connect.Spec
	next    connect.ClientFunc
	request any
	done    bool
}

// SendHeaders does nothing: there is no stream yet.
func (c *call) SendHeaders() error { return nil }

// Send keeps the request for as many attempts as it takes.
func (c *call) Send(msg any) error {
	c.request = msg
	return nil
}

// CloseSend does nothing: a unary call has one request.
func (c *call) CloseSend() error { return nil }

// Close does nothing: each attempt closes its own stream.
func (c *call) Close() error { return nil }

// Receive makes the call. Every error is an [*Error].
func (c *call) Receive(msg any) error {
	if c.done {
		return io.EOF
	}
	c.done = true
	renewed := false
	for n := 1; ; n++ {
		token, err := c.creds.token(c.ctx)
		if err != nil {
			return errorOf(err)
		}
		err = c.attempt(token, msg)
		if err == nil {
			return nil
		}
		if connect.CodeOf(err) == connect.CodeUnauthenticated && token != "" && !renewed {
			renewed = true
			again, renewErr := c.creds.refused(c.ctx, token)
			if renewErr != nil {
				return errorOf(renewErr)
			}
			if again {
				continue
			}
		}
		if c.ctx.Err() != nil {
			return errorOf(errors.Join(c.ctx.Err(), err))
		}
		if n >= c.retry.Attempts || !c.repeatable(err) {
			return explain(err)
		}
		if err := pause(c.ctx, c.retry.wait(n-1)); err != nil {
			return errorOf(err)
		}
	}
}

// attempt sends the request once, under its own deadline.
func (c *call) attempt(token string, msg any) error {
	limit := c.retry.Timeout
	if r, ok := c.request.(interface{ GetWait() *durationpb.Duration }); ok {
		limit += r.GetWait().AsDuration()
	}
	ctx, cancel := context.WithTimeout(c.ctx, limit)
	defer cancel()
	ctx, info := connect.NewClientContext(ctx)
	if token != "" {
		info.RequestHeader().Set("Authorization", "Bearer "+token)
	}
	stream, err := c.next(ctx, c.spec)
	if err != nil {
		return err
	}
	err = stream.Send(c.request)
	if err == nil {
		err = stream.CloseSend()
	}
	// After a failed send the stream knows the true reason.
	if received := stream.Receive(msg); received != nil {
		err = received
	}
	return errors.Join(err, stream.Close())
}

// repeatable reports whether an attempt may be sent again.
func (c *call) repeatable(err error) bool {
	if neverSent(err) {
		return true
	}
	return unanswered(err) && !once(c.spec.Procedure)
}

// unanswered reports that no server has judged the call: the connection failed,
// an attempt took too long, or whoever answered was on its way out.
func unanswered(err error) bool {
	ce, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return true // a bare context error of one attempt
	}
	switch ce.Code() {
	case connect.CodeUnavailable:
		return true
	case connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeAborted, connect.CodeUnknown, connect.CodeInternal:
		// A dead server has no reliable code; what it said itself is a verdict.
		return !ce.IsRemote()
	default:
		return false
	}
}

// explain makes the typed error of a call that nobody has judged, or somebody.
func explain(err error) error {
	out := errorOf(err)
	if e, ok := errors.AsType[*Error](out); ok && e.Reason == "" && unanswered(err) {
		e.Reason = ReasonUnreachable
		e.Text = "the server does not answer"
	}
	return out
}
