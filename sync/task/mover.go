package task

import "slices"

// Mover is who or what moves a task next. Everything that has not ended has
// one, or it would sleep for ever.
type Mover uint8

// Movers.
const (
	// NoMover: nothing would ever move it.
	NoMover Mover = 0
	// MoverNone is needed by nothing: the task has ended.
	MoverNone Mover = 1
	// MoverHold: whoever lifts the hold.
	MoverHold Mover = 2
	// MoverLease: the worker that holds it, or the end of its lease.
	MoverLease Mover = 3
	// MoverQueue: the next worker that claims.
	MoverQueue Mover = 4
	// MoverTime: the end of its wait, or a timer it waits for.
	MoverTime Mover = 5
	// MoverPerson: whoever answers a question it waits for.
	MoverPerson Mover = 6
)

// String is the word that people and logs see.
func (m Mover) String() string {
	names := [...]string{"nobody", "none needed", "hold", "lease", "queue", "time", "person"}
	if int(m) < len(names) {
		return names[m]
	}
	return "?"
}

// NextMover reads from the sources who moves a task next: open tells whether a
// question is open, runs whether a timer is still to fire.
func (s State) NextMover(open, runs func(string) bool) Mover {
	switch {
	case s.Phase.Terminal():
		return MoverNone
	case s.Phase == Running && s.Lease.ID != "" && !s.Lease.Until.IsZero():
		return MoverLease
	case s.Hold.Kind != HoldNone:
		return MoverHold
	case s.Phase == Ready:
		return MoverQueue
	case s.Phase == Waiting && !s.Wait.Until.IsZero(), s.Phase == Waiting && slices.ContainsFunc(s.Wait.Timers, runs):
		return MoverTime
	case s.Phase == Waiting && slices.ContainsFunc(s.Wait.Decisions, open):
		return MoverPerson
	default:
		return NoMover
	}
}
