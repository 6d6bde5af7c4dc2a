package task

import "time"

// Restore follows a restore from a backup, in which the task was alive. What
// has become of it since the backup nobody knows.
type Restore struct {
	// Card is the question that a person has to answer before it goes on.
	Card   string
	By     string
	Reason string
	// Pending are the decisions of this task that are still open.
	Pending []string
	// Unacked: a signal that wakes a sleep on Pending is not acknowledged.
	Unacked bool
}

// GoOn follows a person's word that the work may go on, by this question.
type GoOn struct{ Card string }

// Restored: it was alive in a backup, and waits for the answer to a question.
type Restored struct{ Card string }

// WentOn: that question holds it no more.
type WentOn struct{}

func (Restored) event() {}
func (WentOn) event()   {}

// decideRestore takes the lease of the lost time away without counting it, and
// holds the task for review. Who stopped it before has stopped it.
func decideRestore(s State, c Restore, now time.Time) []Event {
	if s.Phase.Terminal() {
		return nil
	}
	events := []Event{Restored{Card: c.Card}}
	switch {
	case s.Phase != Running:
	case s.Hold.Kind == HoldStop:
		return []Event{LeaseLost{}, stopped(s)}
	case len(c.Pending) > 0 && !c.Unacked && !s.Wrapped():
		events = append(events, LeaseLost{}, Slept{Wait{Mode: Any, Decisions: c.Pending}})
	default:
		events = append(events, LeaseLost{}, Readied{})
	}
	return append(events, decideHold(s, Review{By: c.By, Reason: c.Reason}, now)...)
}

func decideGoOn(s State, c GoOn) []Event {
	if s.Phase.Terminal() || s.RestoreCard == "" || s.RestoreCard != c.Card {
		return nil
	}
	return []Event{WentOn{}}
}

// orphaned: only the command that had created it could have gone on with it,
// and that one lost its lease to a restore.
func (s State) orphaned() bool { return s.Restored && s.Wrapped() && s.Phase == Ready }
