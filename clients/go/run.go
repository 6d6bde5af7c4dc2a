package beckon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// do runs the handler on one claim, from the first heartbeat to the call that
// gives the lease back.
func (l *loop) do(handlers context.Context, work *Work) {
	ctx, cancel := context.WithCancelCause(handlers)
	defer cancel(nil)
	t, err := newTask(l.Worker, work, cancel)
	alive := work.KeepAlive(context.WithoutCancel(handlers))
	var hearing sync.WaitGroup
	hearing.Go(func() { t.hear(ctx, alive, cancel) })
	defer hearing.Wait()
	defer alive.Close()

	switch {
	case err == nil:
		err = l.call(ctx, t)
	case errors.Is(err, ErrNewer):
		_ = pause(ctx, leaveAfter)
	}
	cause := causeOf(ctx)
	if err != nil && cause == nil && !errors.Is(err, ErrSuspended) {
		l.log(t, "a handler ended", err)
	}
	ending, finish := outlast(handlers, l.Grace)
	defer finish()
	l.end(ending, t, endingOf(cause, err, t.asleep() != nil))
}

// call runs the handler. A panic is an error like any other, so that it costs
// one task and not all that are in hand.
func (l *loop) call(ctx context.Context, t *Task) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("beckon: the handler panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return l.handle(ctx, t)
}

func (l *loop) log(t *Task, text string, err error) {
	l.Log.Warn(text, slog.String("task", t.ID()), slog.Any("error", err))
}

// hear passes on what the heartbeats tell, until they end.
func (t *Task) hear(ctx context.Context, alive *KeepAlive, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-alive.Done():
			if err := alive.Err(); err != nil {
				cancel(fmt.Errorf("%w: %w", ErrLeaseLost, err))
			}
			return
		case n := <-alive.News():
			t.told(n.Signals, true)
			if cause := t.holdCause(ctx, n.Hold.GetKind()); cause != nil {
				cancel(cause)
			}
		}
	}
}

// holdCause is why the handler has to end, nil where it has not. The kill switch
// is heard as a stop that the task itself does not have.
func (t *Task) holdCause(ctx context.Context, kind v1.HoldKind) error {
	switch kind {
	case v1.HoldKind_HOLD_KIND_PAUSE:
		return ErrPaused
	case v1.HoldKind_HOLD_KIND_REVIEW:
		return ErrReview
	case v1.HoldKind_HOLD_KIND_STOP:
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	res, err := t.work.agent.Tasks.GetTask(ctx, &v1.GetTaskRequest{TaskId: t.ID()})
	if ReasonOf(err) == ReasonKillSwitch ||
		err == nil && res.GetTask().GetHold().GetKind() != v1.HoldKind_HOLD_KIND_STOP {
		return ErrKillSwitch
	}
	return ErrStopped
}

// end gives the lease back. A refusal of what the handler wanted fails the task,
// or releases it where it only came at the wrong time; a lost lease needs
// nothing.
func (l *loop) end(ctx context.Context, t *Task, e ending) {
	err := l.carryOut(ctx, t, e)
	reason := ReasonOf(err)
	if err == nil || reason == ReasonLeaseLost || reason == ReasonTaskEnded {
		return
	}
	l.log(t, "what a handler ended with was refused", err)
	next := ending{verb: toRelease}
	if e.verb == toComplete || e.verb == toFail {
		next = failed(handlerError, internalText)
	}
	if err := l.carryOut(ctx, t, next); err != nil {
		l.log(t, "a task was not given back", err)
	}
}

func (l *loop) carryOut(ctx context.Context, t *Task, e ending) error {
	switch e.verb {
	case toYield:
		return t.yield(ctx, t.asleep(), func(s *stored) { s.Tries = 0 })
	case toRelease:
		return t.release(ctx)
	case toComplete:
		return t.complete(ctx, e.quiet)
	case toFail:
		return t.fail(ctx, e.failure)
	case toRetry:
		return t.retry(ctx)
	default:
		return nil
	}
}

func (t *Task) release(ctx context.Context) error {
	_, err := try(ctx, t.work.agent, func() (v1.TaskPhase, error) { return t.work.Release(ctx) })
	return err
}

func (t *Task) fail(ctx context.Context, f *v1.TaskFailure) error {
	_, err := try(ctx, t.work.agent, func() (*v1.Task, error) { return t.work.Fail(ctx, f) })
	return err
}

func (t *Task) complete(ctx context.Context, quiet bool) error {
	result, acks := t.ended()
	if quiet {
		result = nil
	}
	_, err := try(ctx, t.work.agent, func() (*v1.Task, error) { return t.work.Complete(ctx, result, acks...) })
	return err
}

// yield sleeps. What was heard and not taken is stored in the same commit that
// acknowledges it.
func (t *Task) yield(ctx context.Context, wait *v1.WaitSet, change func(*stored)) error {
	t.saving.Lock()
	defer t.saving.Unlock()
	n, err := t.next(false, change)
	if err != nil {
		return err
	}
	_, err = try(ctx, t.work.agent, func() (v1.TaskPhase, error) { return t.work.Yield(ctx, wait, n.write, n.acks...) })
	return err
}

// reserved begins the keys of the loop's own timers.
const reserved = "beckon/"

// retry runs the handler again later, also where this worker is gone by then;
// after too many tries the task fails.
func (t *Task) retry(ctx context.Context) error {
	tries := t.tries() + 1
	if tries > t.worker.Retries {
		return t.fail(ctx, &v1.TaskFailure{Code: handlerError, Text: internalText, Retriable: true})
	}
	key := reserved + "retry"
	_, err := try(ctx, t.work.agent, func() (*v1.SetTimerResponse, error) {
		return t.work.agent.Timers.SetTimer(ctx, &v1.SetTimerRequest{
			TaskId: t.ID(), LeaseId: t.work.Lease, Key: key,
			// Other words set it anew; a repeat under this lease is the same.
			Data: []byte(t.work.Lease + " " + strconv.Itoa(tries)),
			When: &v1.SetTimerRequest_After{After: durationpb.New(retryAfter(tries))},
		})
	})
	if err != nil {
		return err
	}
	return t.yield(ctx, &v1.WaitSet{Timers: []string{key}}, func(s *stored) { s.Tries = tries })
}

// leaveAfter is how long a task that needs a newer worker is kept, so that it
// is not claimed again and again.
const leaveAfter = 10 * time.Second
