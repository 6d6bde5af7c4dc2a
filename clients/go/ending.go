package beckon

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// Why the context of a handler has ended; context.Cause gives it, and the
// methods of [Task] return it.
var (
	// ErrSuspended: the task sleeps until what it waits for happens. The handler
	// is to return; it is run again then.
	ErrSuspended = errors.New("beckon: the task is put to sleep: return this error")
	// ErrLeaseLost: somebody else has the task, or nobody, or it has ended.
	ErrLeaseLost = errors.New("beckon: the lease of the task is lost")
	// ErrStopped: the person has stopped the task, or its deadline has passed.
	ErrStopped = errors.New("beckon: the task is stopped")
	// ErrPaused: the person has paused the task.
	ErrPaused = errors.New("beckon: the task is paused")
	// ErrReview: a person has to look before the task goes on.
	ErrReview = errors.New("beckon: the task waits for a person to look at it")
	// ErrKillSwitch: the person has stopped all of their agents.
	ErrKillSwitch = errors.New("beckon: all agents of the account are stopped")
	// ErrShutdown: the worker is told to end.
	ErrShutdown = errors.New("beckon: the worker shuts down")
)

// FailError ends a task in words that its person may read. Make it with [Fail].
type FailError struct {
	// Code is a stable word of the agent's own, 1 to 64 bytes.
	Code string
	// Text is for the person, at most 2,000 bytes.
	Text string
}

// Error gives both.
func (f *FailError) Error() string { return "beckon: " + f.Code + ": " + f.Text }

// Fail is the error by which a handler fails its task at once. Its text is shown
// to the person; the text of any other error is not. It may be wrapped.
func Fail(code, text string) error { return &FailError{Code: code, Text: text} }

// RefusedError says that something may not be done: the person has said no or
// dismissed the question, nobody has answered, or the approval was taken back.
// A handler that returns it ends its task: without a result, which calls nobody,
// where the person had their say, and as failed where nobody has answered.
type RefusedError struct {
	// Key names the question.
	Key string
	// Reply is what became of it.
	Reply Reply
}

// Error says which, and how.
func (e *RefusedError) Error() string { return fmt.Sprintf("beckon: %q is %s", e.Key, e.Reply.Verdict) }

// KeyError is a mistake in a handler: a key that is missing, reserved, or that
// stands for something else in this task already.
type KeyError struct {
	// Key is the key, Why the mistake.
	Key, Why string
}

// Error gives both.
func (e *KeyError) Error() string { return fmt.Sprintf("beckon: key %q %s", e.Key, e.Why) }

// verb is how a handler's run ends.
type verb int

// The verbs. Nothing is for a lease that is lost.
const (
	toNothing verb = iota
	toYield
	toRelease
	toComplete
	toFail
	toRetry
)

// ending is what the loop does when a handler has returned.
type ending struct {
	verb    verb
	failure *v1.TaskFailure
	// quiet: it is completed without a result.
	quiet bool
}

// handlerError is the failure of errors whose text is not for the person.
const handlerError = "handler_error"

func failed(code, text string) ending {
	return ending{verb: toFail, failure: &v1.TaskFailure{Code: code, Text: text}}
}

// endingOf says what follows a handler that returned err. cause is why its
// context has ended, nil while it has not; asleep is set once it waits.
func endingOf(cause, err error, asleep bool) ending {
	reason := ReasonOf(err)
	killed := errors.Is(cause, ErrKillSwitch) || err != nil && reason == ReasonKillSwitch
	switch {
	case errors.Is(cause, ErrLeaseLost), err != nil && (reason == ReasonLeaseLost || reason == ReasonTaskEnded):
		return ending{verb: toNothing}
	case asleep && !killed:
		return ending{verb: toYield}
	case asleep, killed && err != nil:
		return ending{verb: toRelease}
	case err == nil:
		return ending{verb: toComplete}
	case held(cause), reason == reasonHeld:
		return ending{verb: toRelease}
	default:
		return endingOfError(err)
	}
}

// reasonHeld: the task is held, so that nothing new is done.
const reasonHeld = "HELD"

func held(cause error) bool {
	for _, e := range []error{ErrStopped, ErrPaused, ErrReview, ErrShutdown} {
		if errors.Is(cause, e) {
			return true
		}
	}
	return false
}

func endingOfError(err error) ending {
	if errors.Is(err, ErrNewer) {
		return ending{verb: toRelease}
	}
	if f, ok := errors.AsType[*FailError](err); ok {
		return failed(f.Code, f.Text)
	}
	if e, ok := errors.AsType[*EffectError](err); ok {
		return endingOfEffect(e)
	}
	if e, ok := errors.AsType[*RefusedError](err); ok {
		if e.Reply.Verdict == Expired {
			return failed("no_answer", "It was not done: nobody answered, or the approval ran out before it was used.")
		}
		return ending{verb: toComplete, quiet: true}
	}
	_, key := errors.AsType[*KeyError](err)
	if _, state := errors.AsType[*stateError](err); key || state {
		return failed(handlerError, internalText) // it would be the same another time
	}
	return ending{verb: toRetry}
}

const internalText = "The agent met an error that it could not get over."

// endingOfEffect leaves what nobody knows to the person: the effect becomes
// uncertain when the lease is given back, and the task is held until it is
// settled.
func endingOfEffect(e *EffectError) ending {
	switch e.Effect.GetState() {
	case v1.EffectState_EFFECT_STATE_BEGUN, v1.EffectState_EFFECT_STATE_UNCERTAIN:
		return ending{verb: toRelease}
	case v1.EffectState_EFFECT_STATE_RESOLVED_BY_HUMAN:
		return ending{verb: toComplete, quiet: true}
	default:
		return failed("effect_failed", "What was approved was tried, and it was refused.")
	}
}

// retryAfter is the wait before try n, from 1 on.
func retryAfter(n int) time.Duration {
	return min(time.Second<<min(2*(n-1), 20), time.Hour)
}

// causeOf is why ctx has ended, nil while it has not.
func causeOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
