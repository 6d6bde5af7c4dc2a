package task

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/off"
)

// Refusals. Callers compare with errors.Is.
var (
	// ErrLeaseLost: the named lease is not the task's. Nothing changed.
	ErrLeaseLost = errors.New("task: lease lost")
	// ErrNotClaimable: the task is not READY, or held.
	ErrNotClaimable = errors.New("task: not claimable")
	// ErrEmptyWait: a wait set with no member and no end would sleep for ever.
	ErrEmptyWait = errors.New("task: nothing to wait for")
)

// CheckpointConflictError: the checkpoint does not follow the newest one.
type CheckpointConflictError struct {
	// Version is the newest.
	Version uint64
}

// Error implements error.
func (e *CheckpointConflictError) Error() string {
	return fmt.Sprintf("task: newest checkpoint is %d", e.Version)
}

// Decide says what follows from a command in a state. It changes nothing: the
// events do, through Apply. No events and no error means that the command has
// nothing left to do.
func Decide(s State, c Command, now time.Time) ([]Event, error) {
	switch c := c.(type) {
	case Claim:
		return decideClaim(s, c, now)
	case Stop:
		return decideStop(s, c, now), nil
	case Pause, Resume, Review, Clear:
		return decideHold(s, c, now), nil
	case Restore:
		return decideRestore(s, c, now), nil
	case GoOn:
		return decideGoOn(s, c), nil
	case Accept, SendBack:
		return decideOffer(s, c), nil
	case Overdue:
		return decideOverdue(s, now), nil
	case Look:
		return decideLook(s, c, now), nil
	case Listen:
		return decideListen(s, c, now), nil
	case KeepWaiting:
		return decideKeepWaiting(s, c, now), nil
	case Cancel:
		if s.Phase.Terminal() {
			return nil, nil
		}
		return []Event{CanceledBy{By: c.By, Reason: c.Reason}}, nil
	case Wake:
		if s.Phase != Waiting || (!c.Satisfied || off.Rule("R2")) && !c.Waking {
			return nil, nil
		}
		return []Event{Readied{}}, nil
	case LoseLease:
		return decideLoseLease(s, c, now), nil
	default:
		return decideUnderLease(s, c, now)
	}
}

// Create is the state of a new task. With a lease it is born RUNNING.
func Create(s State, lease Lease, now time.Time) State {
	s.Phase = Ready
	s.Hold = Hold{Kind: HoldNone}
	s.CreateTime, s.HeaderTime = now, now
	if lease.ID != "" {
		s.Phase, s.Lease = Running, lease
		s = spoke(s, now)
	}
	return s
}

func decideClaim(s State, c Claim, now time.Time) ([]Event, error) {
	if s.Phase == Running && s.Lease.ClaimID == c.Lease.ClaimID {
		// The worker did not hear the first answer: the same lease again, with
		// its own length whatever the repeat asks for.
		return []Event{LeaseExtended{Until: now.Add(s.Lease.Length)}}, nil
	}
	if !s.Claimable() {
		return nil, ErrNotClaimable
	}
	return []Event{Claimed{Lease: c.Lease}, Spoke{Time: now}}, nil
}

func decideStop(s State, c Stop, now time.Time) []Event {
	switch {
	case s.Phase.Terminal():
		return nil
	case s.Phase != Running:
		return []Event{CanceledBy{By: c.By, Reason: c.Reason}}
	case s.Hold.Kind == HoldStop:
		return nil
	default:
		return []Event{Held{Hold: Hold{Kind: HoldStop, By: c.By, Reason: c.Reason, Since: now}}}
	}
}

// decideOverdue is a stop by the clock. Who stopped the task before has stopped
// it.
func decideOverdue(s State, now time.Time) []Event {
	late := s.NextDeadline()
	switch {
	case late.IsZero() || now.Before(late):
		return nil
	case s.Phase != Running:
		return []Event{ExpiredLate{}}
	default:
		hold := Hold{Kind: HoldStop, By: "server", Reason: "The deadline has passed.", Since: now}
		return []Event{Held{Hold: hold, Expiring: true}}
	}
}

// stopped is the end of a task that was told to stop.
func stopped(s State) Event {
	if s.Expiring {
		return ExpiredLate{}
	}
	return CanceledBy{By: s.Hold.By, Reason: s.Hold.Reason}
}

func decideLoseLease(s State, c LoseLease, now time.Time) []Event {
	if s.Phase != Running || s.Lease.ID != c.Lease {
		return nil
	}
	if s.Hold.Kind == HoldStop {
		return []Event{stopped(s)}
	}
	// What the lost worker was told and did not acknowledge must reach another
	// one, so the task does not sleep on it. That counts: a worker that dies of
	// what it is told has to come to an end.
	if len(c.Pending) > 0 && !c.Unacked && !s.Wrapped() {
		return []Event{LeaseLost{}, Slept{Wait{Mode: Any, Decisions: c.Pending}}}
	}
	if s.Attempts+1 >= s.MaxAttempts {
		return []Event{LeaseLost{Counts: true}, FailedWith{Failure{
			Code: CouldNotResume,
			Text: "The work was interrupted and could not be resumed.",
		}}}
	}
	return lostAgain(s, now)
}

// decideUnderLease handles the commands that only the holder may give.
func decideUnderLease(s State, c Command, now time.Time) ([]Event, error) {
	if repeated(s, c) {
		return nil, nil
	}
	if s.Phase != Running || s.Lease.ID != leaseOf(c) && !off.Rule("R3") {
		return nil, ErrLeaseLost
	}
	switch c := c.(type) {
	case Heartbeat:
		return []Event{LeaseExtended{Until: now.Add(s.Lease.Length)}}, nil
	case SaveCheckpoint:
		if c.Expected != s.Checkpoint {
			return nil, &CheckpointConflictError{Version: s.Checkpoint}
		}
		return []Event{CheckpointSaved{Version: s.Checkpoint + 1}}, nil
	case Ack:
		return []Event{Acked{}}, nil
	case Speak:
		return decideSpeak(s, now), nil
	case UpdateProgress:
		return []Event{ProgressUpdated{Progress: c.Progress}}, nil
	case Yield:
		return decideYield(s, c)
	case Release:
		if c.GiveUp != "" {
			return returned(s, OpRelease, CanceledBy{By: s.Agent, Reason: c.GiveUp}), nil
		}
		return returned(s, OpRelease, Readied{}), nil
	case Complete:
		return decideComplete(s, c), nil
	case Fail:
		return returned(s, OpFail, FailedWith{Failure: c.Failure}), nil
	default:
		return nil, fmt.Errorf("task: unknown command %T", c)
	}
}

func decideYield(s State, c Yield) ([]Event, error) {
	if c.Wait.Empty() {
		return nil, ErrEmptyWait
	}
	if c.Satisfied || c.Unacked {
		return returned(s, OpYield, Readied{}), nil
	}
	return returned(s, OpYield, Slept{Wait: c.Wait}), nil
}

// decideComplete ends the task, or offers the result where a person has to
// accept it first. Under STOP there is nothing left to send it back to.
func decideComplete(s State, c Complete) []Event {
	if c.Review == "" || s.Hold.Kind == HoldStop {
		return returned(s, OpComplete, CompletedWith{Result: c.Result})
	}
	offered := Offered{Result: c.Result, Version: s.OfferVersion + 1, Review: c.Review}
	if c.Unacked {
		return append([]Event{offered}, returned(s, OpComplete, Readied{})...)
	}
	asleep := returned(s, OpComplete, Slept{Wait: Wait{Mode: Any, Decisions: []string{c.Review}}})
	return append([]Event{offered}, asleep...)
}

// decideOffer is what a person said about an offered result. Accepting ends the
// task whatever it does meanwhile: a message may have woken it.
func decideOffer(s State, c Command) []Event {
	if s.Phase.Terminal() || s.Offer == "" {
		return nil
	}
	if _, accepted := c.(Accept); accepted {
		return []Event{CompletedWith{Result: s.Result}}
	}
	if s.Phase == Waiting {
		return []Event{SentBack{}, Readied{}}
	}
	return []Event{SentBack{}}
}

// returned ends the lease and goes where the worker asked to go. Under STOP a
// yield or release is the end; a result keeps its truth.
func returned(s State, op Op, to Event) []Event {
	if s.Hold.Kind == HoldStop && (op == OpYield || op == OpRelease) {
		to = stopped(s)
	}
	after := Apply(s, to)
	return []Event{LeaseReturned{Ended{Lease: s.Lease.ID, Op: op, Phase: after.Phase}}, to}
}

// repeated recognises a command whose first answer got lost: the lease was
// given back by this very operation. It has nothing left to do.
func repeated(s State, c Command) bool {
	if s.Ended.Lease == "" || s.Ended.Lease != leaseOf(c) {
		return false
	}
	switch c := c.(type) {
	case Yield:
		return s.Ended.Op == OpYield
	case Release:
		return s.Ended.Op == OpRelease
	case Complete:
		return s.Ended.Op == OpComplete && sameResult(s.Result, c.Result)
	case Fail:
		return s.Ended.Op == OpFail && s.Failure != nil && sameFailure(*s.Failure, c.Failure)
	default:
		return false
	}
}

// sameResult compares by content: a store gives empty bytes back as none.
func sameResult(a, b *Result) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Summary == b.Summary && a.Body == b.Body && bytes.Equal(a.DataJSON, b.DataJSON) &&
		sameStatus(a.ExitStatus, b.ExitStatus) && slices.Equal(a.Artifacts, b.Artifacts)
}

func sameFailure(a, b Failure) bool {
	return a.Code == b.Code && a.Text == b.Text && a.Retriable == b.Retriable && sameStatus(a.ExitStatus, b.ExitStatus)
}

func sameStatus(a, b *int32) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func leaseOf(c Command) string {
	switch c := c.(type) {
	case Heartbeat:
		return c.Lease
	case SaveCheckpoint:
		return c.Lease
	case Ack:
		return c.Lease
	case Speak:
		return c.Lease
	case UpdateProgress:
		return c.Lease
	case Yield:
		return c.Lease
	case Release:
		return c.Lease
	case Complete:
		return c.Lease
	case Fail:
		return c.Lease
	default:
		return ""
	}
}
