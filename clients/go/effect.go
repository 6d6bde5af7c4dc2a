package beckon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Go is leave to do one thing to the outside world, once, now.
type Go struct {
	// Effect is what was begun; its generation names this attempt.
	Effect *v1.Effect
	// Args are exactly the arguments that were approved. Run these and no others.
	Args []byte
	// Permit is for a tool gateway that wants proof; 60 seconds long.
	Permit string
}

// EffectError says why an effect is not done: it was not run, or nobody knows
// how it went. Effect is what is known. Find it with errors.As.
type EffectError struct {
	Effect *v1.Effect
	// Err is what running or confirming it ended with; nil where it was not run.
	Err error
}

// Error names the state, and what went wrong.
func (e *EffectError) Error() string {
	text := fmt.Sprintf("beckon: effect %s is %s", e.Effect.GetKey(), e.Effect.GetState())
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the error of running or confirming it.
func (e *EffectError) Unwrap() error { return e.Err }

// definiteError marks a failure after which the thing was surely not done.
type definiteError struct{ error }

func (e definiteError) Unwrap() error { return e.error }

// Definite marks an error of an effect's function as a refusal: the thing was
// surely not done. A timeout or a lost answer is none.
func Definite(err error) error {
	if err == nil {
		return nil
	}
	return definiteError{err}
}

// confirmTime bounds how long a confirmation is tried after its caller gave up.
const confirmTime = 30 * time.Second

// Effect does what a decision approved, once in the life of the key: it begins,
// runs fn with the approved arguments, and says how it went. fn returns what the
// provider gave for it; an error that is not [Definite] leaves the effect
// without an end, so that it becomes uncertain when the lease is gone, and the
// person is asked.
//
// What is done already, also in an earlier life of this program, is not run
// again, and no error. Errors: [*EffectError], and [*Error] where nothing was
// begun.
func (w *Work) Effect(ctx context.Context, key string, approved *v1.Decision, fn func(context.Context, Go) (receipt string, err error)) (*v1.Effect, error) {
	if n := len(approved.GetGrants()); n != 1 {
		return nil, fmt.Errorf("beckon: the decision has armed %d grants: name one to Do", n)
	}
	return w.Do(ctx, &v1.BeginEffectRequest{Key: key, GrantId: approved.GetGrants()[0].GetId()}, fn)
}

// Do is [Work.Effect] for any request: by a grant, or for an action that a rule
// allows.
func (w *Work) Do(ctx context.Context, req *v1.BeginEffectRequest, fn func(context.Context, Go) (receipt string, err error)) (*v1.Effect, error) {
	begun, err := w.beginEffect(ctx, req)
	if err != nil {
		return nil, err
	}
	e := begun.GetEffect()
	if begun.GetOutcome() != v1.BeginOutcome_BEGIN_OUTCOME_GO {
		if done(e) {
			return e, nil
		}
		return e, &EffectError{Effect: e}
	}
	receipt, failed := fn(ctx, Go{Effect: e, Args: e.GetAction().GetArgsJson(), Permit: begun.GetPermit()})
	result := v1.EffectResult_EFFECT_RESULT_OK
	if failed != nil {
		if _, definite := errors.AsType[definiteError](failed); !definite {
			return e, &EffectError{Effect: e, Err: failed}
		}
		result = v1.EffectResult_EFFECT_RESULT_DEFINITE_FAILURE
		if receipt == "" {
			receipt = cut(failed.Error())
		}
	}
	after, err := w.confirmEffect(ctx, e, result, receipt)
	if err := errors.Join(failed, err); err != nil {
		return after, &EffectError{Effect: after, Err: err}
	}
	return after, nil
}

// done: it was done, as far as anybody knows.
func done(e *v1.Effect) bool {
	return e.GetState() == v1.EffectState_EFFECT_STATE_CONFIRMED ||
		e.GetState() == v1.EffectState_EFFECT_STATE_RESOLVED_BY_HUMAN && e.GetExit() == v1.EffectExit_EFFECT_EXIT_HAPPENED
}

// beginEffect asks for GO, and goes on asking under the same attempt while the
// server is away. Where the answer to one of its own calls got lost, GO was said
// and nothing was run: it says so, and asks for the next generation.
func (w *Work) beginEffect(ctx context.Context, req *v1.BeginEffectRequest) (*v1.BeginEffectResponse, error) {
	for {
		req.TaskId, req.LeaseId, req.AttemptId = w.ID(), w.Lease, NewID()
		res, err := try(ctx, w.agent, func() (*v1.BeginEffectResponse, error) { return w.agent.Effects.BeginEffect(ctx, req) })
		if err != nil {
			return nil, err
		}
		e := res.GetEffect()
		lost := res.GetOutcome() != v1.BeginOutcome_BEGIN_OUTCOME_GO &&
			e.GetState() == v1.EffectState_EFFECT_STATE_BEGUN && e.GetAttemptId() == req.GetAttemptId()
		if !lost {
			return res, nil
		}
		if _, err := w.confirmEffect(ctx, e, v1.EffectResult_EFFECT_RESULT_DEFINITE_FAILURE, "The answer got lost, and nothing was run."); err != nil {
			return nil, err
		}
	}
}

// confirmEffect says how a generation went, and goes on saying it for a while
// after the caller gave up: what was done has to be known.
func (w *Work) confirmEffect(ctx context.Context, e *v1.Effect, result v1.EffectResult, receipt string) (*v1.Effect, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), confirmTime)
	defer cancel()
	for n := 0; ; n++ {
		res, err := w.agent.Effects.ConfirmEffect(ctx, &v1.ConfirmEffectRequest{
			EffectId: e.GetId(), Generation: e.GetGeneration(), Result: result, Receipt: receipt, LeaseId: w.Lease,
		})
		if err == nil {
			return res.GetEffect(), nil
		}
		if err := w.agent.hold(ctx, err, n); err != nil {
			return e, err
		}
	}
}

// cut keeps a receipt within its bound, on whole characters.
func cut(s string) string {
	const most = 1024
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}
