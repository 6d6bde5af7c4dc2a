package task

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/off"
)

// Phase is where a task stands; holds lie across it.
type Phase uint8

// Phases. The numbers are those of the wire and of the disk.
const (
	Ready     Phase = 1
	Running   Phase = 2
	Waiting   Phase = 3
	Completed Phase = 4
	Failed    Phase = 5
	Canceled  Phase = 6
	Expired   Phase = 7
)

// Phases lists all of them, for tables that have to be complete.
var Phases = [...]Phase{Ready, Running, Waiting, Completed, Failed, Canceled, Expired}

// Terminal reports whether the task has ended.
func (p Phase) Terminal() bool { return p >= Completed }

// String is the word that people and logs see.
func (p Phase) String() string {
	names := [...]string{"", "READY", "RUNNING", "WAITING", "COMPLETED", "FAILED", "CANCELED", "EXPIRED"}
	if int(p) < len(names) {
		return names[p]
	}
	return "?"
}

// HoldKind keeps a task from being claimed.
type HoldKind uint8

// Kinds of holds, as on the wire and on disk.
const (
	HoldNone   HoldKind = 1
	HoldPause  HoldKind = 2
	HoldStop   HoldKind = 3
	HoldReview HoldKind = 4
)

// Holds lists all of them, for tables that have to be complete.
var Holds = [...]HoldKind{HoldNone, HoldPause, HoldStop, HoldReview}

// String is the word that people and logs see.
func (k HoldKind) String() string {
	names := [...]string{"", "NONE", "PAUSE", "STOP", "REVIEW"}
	if int(k) < len(names) {
		return names[k]
	}
	return "?"
}

// Hold says that a task is held, by whom and why.
type Hold struct {
	Kind   HoldKind
	By     string
	Reason string
	Since  time.Time
}

// Lease is a claim on a task. ID is random and compared for equality only.
type Lease struct {
	ID      string
	ClaimID string
	Length  time.Duration
	Until   time.Time
}

// WaitMode says how many members of a wait set have to happen.
type WaitMode uint8

// Modes, as on the wire and on disk.
const (
	Any WaitMode = 1
	All WaitMode = 2
)

// Wait is what a sleeping task waits for.
type Wait struct {
	Mode      WaitMode
	Decisions []string
	// Timers are named by their keys.
	Timers []string
	// Until wakes the task whatever the members did; zero means never.
	Until time.Time
	// Retry: nobody asked for this wait. The worker was lost, not for the first
	// time in a row, and the task is tried again at Until. Its end is no news
	// for the agent.
	Retry bool
}

// Names reports whether the set waits for this decision.
func (w Wait) Names(decision string) bool { return slices.Contains(w.Decisions, decision) }

// Empty reports whether nothing would ever end this wait.
func (w Wait) Empty() bool { return w.members() == 0 && w.Until.IsZero() }

func (w Wait) members() int { return len(w.Decisions) + len(w.Timers) }

// Sources tell what has happened to the members of a set.
type Sources struct {
	// Closed reports whether a decision is closed.
	Closed func(decision string) bool
	// Fired reports whether a timer has fired.
	Fired func(timer string) bool
}

// Satisfied reads the sources.
func (w Wait) Satisfied(from Sources, now time.Time) bool {
	if !w.Until.IsZero() && !now.Before(w.Until) {
		return true
	}
	happened := count(w.Decisions, from.Closed) + count(w.Timers, from.Fired)
	if w.Mode == All {
		return happened > 0 && happened == w.members()
	}
	return happened > 0
}

func count(members []string, happened func(string) bool) int {
	n := 0
	for _, m := range members {
		if happened(m) {
			n++
		}
	}
	return n
}

// Failure says why a task ended without a result.
type Failure struct {
	Code       string
	Text       string
	Retriable  bool
	ExitStatus *int32
}

// CouldNotResume is the failure code of a task whose workers were lost too
// often in a row.
const CouldNotResume = "could_not_resume"

// Result is what a task was for.
type Result struct {
	Summary    string
	Body       string
	DataJSON   []byte
	ExitStatus *int32
	// Artifacts are digests of the files that belong to it, in order.
	Artifacts [][32]byte
}

// Progress is the one line an agent keeps current.
type Progress struct {
	Text    string
	Percent *uint32
	Time    time.Time
}

// Op is a way in which a worker gives a lease back.
type Op uint8

// Ways to end a lease that a lost answer may make a worker repeat.
const (
	OpNone     Op = 0
	OpYield    Op = 1
	OpRelease  Op = 2
	OpComplete Op = 3
	OpFail     Op = 4
)

// Ended remembers how the last lease was given back, so that the worker whose
// answer got lost hears the same again instead of LEASE_LOST.
type Ended struct {
	Lease string
	Op    Op
	Phase Phase
}

// State is a task.
type State struct {
	ID     string
	Thread string
	Agent  string
	Title  string
	Input  []byte
	Labels map[string]string
	// NoMessages: the worker cannot read what a person writes.
	NoMessages bool

	Phase Phase
	Hold  Hold
	// Below is the pause that shows again when a review is over; its Kind is 0
	// where there is none.
	Below Hold
	Lease Lease
	Wait  Wait
	Ended Ended

	// Attempts counts lost leases in a row; the one that reaches MaxAttempts
	// fails the task.
	Attempts    int
	MaxAttempts int
	// Checkpoint is the version of the newest one.
	Checkpoint uint64
	// Signals is the id of the newest signal.
	Signals uint64

	// Answered: a person has answered a question of this task.
	Answered bool

	// Review: a person accepts the result before it ends the task. Offer is the
	// question by which, empty while none is offered, and OfferVersion counts the
	// results offered so far.
	Review       bool
	Offer        string
	OfferVersion uint32

	// ReadyTime is when the task became claimable, and LookTime when the server
	// looks next whether a worker is there for it; zero while it is not claimable.
	ReadyTime, LookTime time.Time
	NoWorker            NoWorker

	// SilenceAfter is how long the worker that holds the task may say nothing;
	// zero where nobody listens. SpokeTime is when it last said something,
	// SilenceLook when that is looked at next, zero where it is not.
	SilenceAfter           time.Duration
	SpokeTime, SilenceLook time.Time
	Hush                   Hush

	// Restored: it was alive in a backup that was restored, so nobody knows what
	// it had begun to do since. RestoreCard is the question after the restore
	// that holds it for review; empty once it is answered.
	Restored    bool
	RestoreCard string

	// Deadline is when the task is no longer wanted; zero where there is none.
	// Expiring: it has passed, and the worker that holds the task was told.
	Deadline time.Time
	Expiring bool

	Progress Progress
	// HeaderTime is when lists last saw the progress move.
	HeaderTime time.Time
	Result     *Result
	Failure    *Failure

	CreateTime time.Time
	EndTime    time.Time
	// EndPosition is the notable position of the item that tells of the end: who
	// has read so far has seen how it ended. 0 where that item is not notable.
	EndPosition uint64
}

// Claimable: READY and not held.
func (s State) Claimable() bool {
	return s.Phase == Ready && (s.Hold.Kind == HoldNone || off.Rule("R1"))
}

// NextDeadline is when the deadline has to be looked at; zero when it never
// has, or has been.
func (s State) NextDeadline() time.Time {
	if s.Phase.Terminal() || s.Hold.Kind == HoldStop {
		return time.Time{}
	}
	return s.Deadline
}

// Wrapped: a command that only its creator can run. A lost lease cannot be
// resumed by anybody, whatever the command was waiting for.
func (s State) Wrapped() bool { return s.MaxAttempts == 1 }

// LabelsMatch reports whether a worker with the given labels may have it.
func (s State) LabelsMatch(worker map[string]string) bool {
	for k, v := range s.Labels {
		if got, ok := worker[k]; !ok || got != v {
			return false
		}
	}
	return true
}
