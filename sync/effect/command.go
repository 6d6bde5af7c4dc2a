package effect

import (
	"time"

	"github.com/beckon-dev/beckon/sync/proof"
)

// Command is one thing that can happen to an effect.
type Command interface{ command() }

// Begin asks for GO. Who may ask, and that the task is not held, is judged
// before. On a state without a status, its other fields are the new effect's.
type Begin struct {
	Digest proof.Digest
	// Attempt is the caller's random name for this very call.
	Attempt string
	// Alive: the permission it began with is still good, whether a grant that is
	// not void and not past its time, or a rule.
	Alive bool
	// Doubtful: the server cannot know what it did before, as after a restore.
	Doubtful bool
}

// Confirm says how a generation went.
type Confirm struct {
	Generation uint32
	// OK: it was done. Otherwise it definitely was not.
	OK      bool
	Receipt string
	// Holder: said under the task's present lease.
	Holder bool
}

// Report is what a probe said.
type Report struct {
	Generation uint32
	Kind       Kind
	Text       string
	// Authoritative: a rule says that NotFound of this probe is the truth.
	Authoritative bool
}

// LoseLease follows the end of the lease under which the effect was begun,
// however it ended: lost, released, slept on, or past a deadline.
type LoseLease struct{}

// EndTask follows the end of the task.
type EndTask struct{}

// Restore follows a restore from a backup: what the backup knows of the effect
// may not be the last that became of it.
type Restore struct {
	// Skip is a generation that no history of this store has reached.
	Skip uint32
}

// Resolve is what a person says about an uncertain effect.
type Resolve struct {
	Exit Exit
	By   string
	// Until is how long DoIt is good.
	Until time.Time
}

func (Begin) command()     {}
func (Confirm) command()   {}
func (Report) command()    {}
func (LoseLease) command() {}
func (EndTask) command()   {}
func (Restore) command()   {}
func (Resolve) command()   {}

// Event is one fact that follows from a command. Applying an effect's events in
// order gives its state.
type Event interface{ event() }

type (
	// Went: GO was said for this generation.
	Went struct {
		Generation uint32
		Attempt    string
	}
	// Doubted: it might have been done by what nobody remembers.
	Doubted struct{}
	// LeftUncertain: its lease is gone and nobody has said how it went.
	LeftUncertain struct{}
	// Reopened: nobody knows what became of it after the backup, and Generation
	// is one that nobody was given.
	Reopened struct{ Generation uint32 }
	// SettledAs: how it went is known.
	SettledAs struct {
		To      Status
		Receipt string
		Opening Opening
	}
	// ResolvedAs: a person has settled it.
	ResolvedAs struct {
		Exit  Exit
		By    string
		Until time.Time
	}
	// Noted: something was said.
	Noted struct{ Note Note }
	// Ended: its task is over.
	Ended struct{}
)

func (Went) event()          {}
func (Doubted) event()       {}
func (LeftUncertain) event() {}
func (Reopened) event()      {}
func (SettledAs) event()     {}
func (ResolvedAs) event()    {}
func (Noted) event()         {}
func (Ended) event()         {}

// Outcome is what a command met.
type Outcome uint8

// Outcomes.
const (
	// Known: nothing changed; the state says what is known.
	Known Outcome = 1
	// Go: a new generation; the caller does it now.
	Go Outcome = 2
	// Settled: how it went is known from now on.
	Settled Outcome = 3
	// Kept: noted as evidence, or as a fact about the task.
	Kept Outcome = 4
)
