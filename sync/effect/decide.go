package effect

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/off"
)

// Refusals. Callers compare with errors.Is.
var (
	// ErrOtherAction: the key stands for another action, byte for byte.
	ErrOtherAction = errors.New("effect: the key was begun with another action")
	// ErrGeneration: no such generation was ever begun.
	ErrGeneration = errors.New("effect: no such generation")
	// ErrExit: the person was not offered this way out.
	ErrExit = errors.New("effect: not a way out")
)

// Decide says what follows from a command in a state. It changes nothing: the
// events do, through Apply.
func Decide(s State, c Command, now time.Time) ([]Event, Outcome, error) {
	switch c := c.(type) {
	case Begin:
		return decideBegin(s, c, now)
	case Confirm:
		return decideConfirm(s, c, now)
	case Report:
		return decideReport(s, c, now)
	case LoseLease:
		if s.Status != Begun {
			return nil, Known, nil
		}
		return []Event{LeftUncertain{}}, Kept, nil
	case EndTask:
		return decideEnd(s)
	case Restore:
		return decideRestore(s, c)
	case Resolve:
		return decideResolve(s, c)
	default:
		return nil, 0, fmt.Errorf("effect: unknown command %T", c)
	}
}

func decideBegin(s State, c Begin, now time.Time) ([]Event, Outcome, error) {
	went := Went{Generation: s.Generation + 1, Attempt: c.Attempt}
	switch {
	case s.Status == 0 && c.Doubtful && s.ProviderKey == "" && s.Probe == "":
		return []Event{Doubted{}}, Known, nil
	case s.Status == 0:
		return []Event{went}, Go, nil
	case c.Digest != s.Digest:
		return nil, 0, ErrOtherAction
	case s.opens(c, now), s.Status == Uncertain && off.Rule("R15"):
		return []Event{went}, Go, nil
	case s.Status == Begun && off.Rule("R14"):
		went.Generation--
		return []Event{went}, Go, nil
	default:
		return nil, Known, nil
	}
}

// opens is whether another generation may begin now.
func (s State) opens(c Begin, now time.Time) bool {
	switch s.Opening {
	case AfterFailure, AfterProbe:
		return c.Alive
	case AfterPerson:
		return now.Before(s.OpenUntil)
	default:
		return false
	}
}

func decideConfirm(s State, c Confirm, now time.Time) ([]Event, Outcome, error) {
	if c.Generation == 0 || c.Generation > s.Generation {
		return nil, 0, ErrGeneration
	}
	note := Note{Generation: c.Generation, Kind: SaidFailed, Text: c.Receipt, Time: now}
	if c.OK {
		note.Kind = SaidOK
	}
	if c.Generation < s.Generation {
		return keep(s, note)
	}
	switch {
	case c.OK && s.Status == Confirmed, !c.OK && s.Status == Failed:
		return nil, Known, nil // a repeat whose answer got lost
	case c.OK && s.undecided():
		return []Event{SettledAs{To: Confirmed, Receipt: c.Receipt}}, Settled, nil
	case c.OK || s.Status == Confirmed || s.Status == ResolvedByHuman:
		return keep(s, note)
	}
	opening := Shut
	if c.Holder && s.Generation-s.Skipped < MaxGenerations && !s.TaskEnded {
		opening = AfterFailure
	}
	return []Event{SettledAs{To: Failed, Receipt: c.Receipt, Opening: opening}}, Settled, nil
}

// undecided: the truth about the newest generation still changes what follows.
func (s State) undecided() bool { return s.Status != Confirmed && s.Unsettled() }

func decideReport(s State, c Report, now time.Time) ([]Event, Outcome, error) {
	if c.Generation == 0 || c.Generation > s.Generation {
		return nil, 0, ErrGeneration
	}
	note := Note{Generation: c.Generation, Kind: c.Kind, Text: c.Text, Time: now}
	kept, outcome, err := keep(s, note)
	if c.Generation < s.Generation {
		return kept, outcome, err
	}
	switch {
	case c.Kind == Found && s.undecided():
		return append(kept, SettledAs{To: Confirmed}), Settled, nil
	case c.Kind == NotFound && c.Authoritative && s.Status == Uncertain && !s.TaskEnded:
		// Never while a worker holds the lease: its call might be on the way.
		return append(kept, SettledAs{To: Failed, Opening: AfterProbe}), Settled, nil
	default:
		return kept, outcome, err
	}
}

// keep notes what was said, once.
func keep(s State, n Note) ([]Event, Outcome, error) {
	for _, have := range s.Evidence {
		if have.Generation == n.Generation && have.Kind == n.Kind && have.Text == n.Text {
			return nil, Known, nil
		}
	}
	return []Event{Noted{n}}, Kept, nil
}

func decideEnd(s State) ([]Event, Outcome, error) {
	switch {
	case !s.Unsettled() || s.TaskEnded:
		return nil, Known, nil
	case s.Status == Begun:
		return []Event{LeftUncertain{}, Ended{}}, Kept, nil
	default:
		return []Event{Ended{}}, Kept, nil
	}
}

// decideRestore leaves uncertain whatever could still have moved after the
// backup was taken: begun, uncertain, or open for another try, which may have
// begun and happened. Generations go on where nobody has been, so that a word
// about a lost one does not settle what counts now.
func decideRestore(s State, c Restore) ([]Event, Outcome, error) {
	if !s.Unsettled() {
		return nil, Known, nil
	}
	return []Event{Reopened{Generation: max(c.Skip, s.Generation) + 1}}, Kept, nil
}

func decideResolve(s State, c Resolve) ([]Event, Outcome, error) {
	if s.Status != Uncertain {
		return nil, Known, nil
	}
	if !slices.Contains(s.Exits(), c.Exit) {
		return nil, 0, ErrExit
	}
	return []Event{ResolvedAs(c)}, Settled, nil
}
