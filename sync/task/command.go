package task

import "time"

// Command is one thing that can happen to a task.
type Command interface{ command() }

// Claim takes a claimable task into a worker's hands.
type Claim struct {
	Lease Lease
}

// Heartbeat extends the lease.
type Heartbeat struct {
	Lease string
}

// SaveCheckpoint stores the version after Expected.
type SaveCheckpoint struct {
	Lease    string
	Expected uint64
}

// Ack acknowledges signals; which ones the caller keeps.
type Ack struct {
	Lease string
}

// Speak notes that the worker has said something.
type Speak struct {
	Lease string
}

// UpdateProgress replaces the progress line.
type UpdateProgress struct {
	Lease    string
	Progress Progress
}

// Yield gives the lease back to sleep.
type Yield struct {
	Lease string
	Wait  Wait
	// Satisfied is Wait.Satisfied, read from the sources.
	Satisfied bool
	// Unacked: a signal that wakes this wait is not acknowledged.
	Unacked bool
}

// Release gives the lease back with nothing to wait for.
type Release struct {
	Lease string
	// GiveUp, where it is set, says why nobody wants the task any more: it is
	// CANCELED by its agent instead of READY.
	GiveUp string
}

// Complete ends the task with a result.
type Complete struct {
	Lease string
	// Result is nil when there is nothing to read.
	Result *Result
	// Review is the question by which a person accepts the result before it
	// ends the task; empty where nobody has to.
	Review string
	// Unacked: a signal that wakes a task that waits for its review is not
	// acknowledged, so it does not sleep on it.
	Unacked bool
}

// Accept ends the task with the result that was offered.
type Accept struct{}

// SendBack asks for another result.
type SendBack struct{}

// Fail ends the task without one.
type Fail struct {
	Lease   string
	Failure Failure
}

// Stop asks the task to end.
type Stop struct {
	By     string
	Reason string
}

// Overdue follows the deadline of the task.
type Overdue struct{}

// Cancel ends the task at once, lease or not: its agent lost the right to work.
type Cancel struct {
	By     string
	Reason string
}

// Pause keeps the task from being worked on until a person lifts it.
type Pause struct {
	By     string
	Reason string
}

// Resume lifts a pause.
type Resume struct{}

// Review holds the task until somebody has looked at what is uncertain.
type Review struct {
	By     string
	Reason string
}

// Clear lifts a review: nothing is uncertain any more.
type Clear struct{}

// Look follows the time at which the server looks whether a worker is there.
type Look struct {
	// Seen is when a worker that may have the task was last there, as far as the
	// server knows: now, while one is; zero where it has seen none.
	Seen time.Time
	// Started is when the server began to see workers.
	Started time.Time
	// For is what the task waits for, in words.
	For string
	// Card is the question by which the person would be asked.
	Card     string
	Patience Patience
}

// Listen follows the time at which a worker should have said something.
type Listen struct {
	// Started is when the server began to hear anybody.
	Started time.Time
}

// KeepWaiting answers that question: the person is not asked anew before Again
// has passed.
type KeepWaiting struct {
	Again time.Duration
}

// Wake follows a stored signal or a passed time.
type Wake struct {
	// Satisfied is Wait.Satisfied, read from the sources.
	Satisfied bool
	// Waking: the signal wakes by itself.
	Waking bool
}

// LoseLease follows the end of a lease that nobody extended.
type LoseLease struct {
	Lease string
	// Pending are the decisions of this task that are still open.
	Pending []string
	// Unacked: a signal that wakes a sleep on Pending is not acknowledged.
	Unacked bool
}

func (Claim) command()          {}
func (Heartbeat) command()      {}
func (SaveCheckpoint) command() {}
func (Ack) command()            {}
func (Speak) command()          {}
func (Listen) command()         {}
func (UpdateProgress) command() {}
func (Yield) command()          {}
func (Release) command()        {}
func (Complete) command()       {}
func (Accept) command()         {}
func (SendBack) command()       {}
func (Fail) command()           {}
func (Stop) command()           {}
func (Overdue) command()        {}
func (Cancel) command()         {}
func (Pause) command()          {}
func (Resume) command()         {}
func (Review) command()         {}
func (Clear) command()          {}
func (Look) command()           {}
func (KeepWaiting) command()    {}
func (Wake) command()           {}
func (LoseLease) command()      {}
func (Restore) command()        {}
func (GoOn) command()           {}

// Event is one fact that follows from a command. Applying a task's events in
// order gives its state.
type Event interface{ event() }

// Claimed: a worker holds the lease.
type Claimed struct{ Lease Lease }

// LeaseExtended: the lease now ends later.
type LeaseExtended struct{ Until time.Time }

// CheckpointSaved: a new version is the newest.
type CheckpointSaved struct{ Version uint64 }

// Acked: the agent has heard something; attempts start anew.
type Acked struct{}

// ProgressUpdated: the progress line changed.
type ProgressUpdated struct{ Progress Progress }

// LeaseReturned: the worker gave the lease back, which is remembered.
type LeaseReturned struct{ Ended Ended }

// LeaseLost: nobody extended the lease.
type LeaseLost struct{ Counts bool }

// Slept: the task waits.
type Slept struct{ Wait Wait }

// Readied: the task waits for a worker.
type Readied struct{}

// Looked: this is known of workers for a claimable task, and it is looked at
// again at Next.
type Looked struct {
	NoWorker NoWorker
	Next     time.Time
}

// Spoke: the worker said something.
type Spoke struct{ Time time.Time }

// Hushed: this is what its silence has led to, looked at again at Next.
type Hushed struct {
	Hush Hush
	Next time.Time
}

// Held: this hold lies on the task now, HoldNone for none, and that one beneath
// it.
type Held struct {
	Hold, Below Hold
	// Expiring: it is the STOP of a deadline.
	Expiring bool
}

// Offered: this version of the result waits for a person's word.
type Offered struct {
	Result  *Result
	Version uint32
	Review  string
}

// SentBack: the offered result is not what was wanted.
type SentBack struct{}

// Ended events carry why there will be no more.
type (
	// CompletedWith: it was done; Result is nil when there is nothing to read.
	CompletedWith struct{ Result *Result }
	// FailedWith: there is none.
	FailedWith struct{ Failure Failure }
	// ExpiredLate: its deadline passed.
	ExpiredLate struct{}
	// CanceledBy: a person or a revocation ended it.
	CanceledBy struct{ By, Reason string }
)

func (Claimed) event()         {}
func (LeaseExtended) event()   {}
func (CheckpointSaved) event() {}
func (Acked) event()           {}
func (ProgressUpdated) event() {}
func (LeaseReturned) event()   {}
func (LeaseLost) event()       {}
func (Slept) event()           {}
func (Readied) event()         {}
func (Looked) event()          {}
func (Spoke) event()           {}
func (Hushed) event()          {}
func (Held) event()            {}
func (Offered) event()         {}
func (SentBack) event()        {}
func (CompletedWith) event()   {}
func (FailedWith) event()      {}
func (ExpiredLate) event()     {}
func (CanceledBy) event()      {}
