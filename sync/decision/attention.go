package decision

import "time"

// Bounds of what calls a person again.
const (
	MaxReminders = 3
	// ReminderGap is the least time between a question, its reminders and its
	// end: closer together they only annoy.
	ReminderGap = time.Minute
	// MaxSnooze is how long a question without an end may be put aside.
	MaxSnooze = 30 * 24 * time.Hour
	// MaxRevisions is how often a card may change: each time the person has to
	// look again.
	MaxRevisions = 32
)

// Snooze puts a question aside until a time, at most its end. It stays
// PENDING, and nobody has answered anything. The zero time brings it back.
type Snooze struct{ Until time.Time }

// Restore follows a restore from a backup: what came due since it was taken has
// called the person already, or is not made up for.
type Restore struct{}

// Remind calls the person again where it is time to: a reminder is due, or what
// was put aside comes back.
type Remind struct{}

func (Snooze) command()  {}
func (Remind) command()  {}
func (Restore) command() {}

type (
	// Snoozed: it is put aside until then, or back at once.
	Snoozed struct{ Until time.Time }
	// Reminded: the person is called again.
	Reminded struct{}
	// Passed: these calls are over without anybody being called.
	Passed struct{ Calls uint32 }
)

func (Snoozed) event()  {}
func (Reminded) event() {}
func (Passed) event()   {}

// Snoozed reports whether the question is put aside at the given time.
func (s State) Snoozed(now time.Time) bool { return now.Before(s.SnoozeUntil) }

// Wanted reports whether a person should look at it now: it is open and not put
// aside.
func (s State) Wanted(now time.Time) bool { return s.Status == Pending && !s.Snoozed(now) }

// NextTime is when time alone changes something: the end of an open question,
// the next call to its person, or the end of a grant. Zero is never.
func (s State) NextTime() time.Time {
	var at time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if s.Status != Pending {
		for _, g := range s.Grants {
			if g.State == Armed {
				sooner(g.ExpireTime)
			}
		}
		return at
	}
	sooner(s.ExpireTime)
	switch {
	case !s.SnoozeUntil.IsZero():
		sooner(s.SnoozeUntil)
	case len(s.Reminders) > 0:
		sooner(s.Reminders[0])
	}
	return at
}

func decideSnooze(s State, c Snooze, now time.Time) ([]Event, error) {
	switch {
	case s.Status != Pending:
		return nil, nil
	case s.Late(now):
		return []Event{expired()}, nil
	case !c.Until.IsZero() && !now.Before(c.Until):
		return nil, invalid("LIMIT", "snooze")
	case !s.ExpireTime.IsZero() && c.Until.After(s.ExpireTime), c.Until.Sub(now) > MaxSnooze:
		return nil, invalid("LIMIT", "snooze")
	case c.Until.Equal(s.SnoozeUntil):
		return nil, nil
	}
	return []Event{Snoozed(c)}, nil
}

func decideRemind(s State, now time.Time) []Event {
	if s.Status != Pending || s.Late(now) {
		return nil
	}
	back := !s.SnoozeUntil.IsZero() && !s.Snoozed(now)
	due := s.SnoozeUntil.IsZero() && len(s.Reminders) > 0 && !now.Before(s.Reminders[0])
	if !back && !due {
		return nil
	}
	return []Event{Reminded{}}
}

func decideRestore(s State, now time.Time) []Event {
	passed := uint32(0)
	for _, t := range s.Reminders {
		if !now.Before(t) {
			passed++
		}
	}
	if !s.SnoozeUntil.IsZero() && !s.Snoozed(now) {
		passed++
	}
	if s.Status != Pending || passed == 0 {
		return nil
	}
	return []Event{Passed{Calls: passed}}
}

// remind is the state after the person was called again: what was put aside is
// back, and reminders that came due meanwhile are not made up for.
func remind(s State, now time.Time) State {
	s.SnoozeUntil = time.Time{}
	s.Round++
	left := s.Reminders
	for len(left) > 0 && !now.Before(left[0]) {
		left = left[1:]
	}
	s.Reminders = left
	if len(left) == 0 {
		s.Reminders = nil
	}
	return s
}

// remindersOf judges and places reminders. Left out, a question with an end has
// them after half and nine tenths of its time, as far as the gaps allow.
func remindersOf(s State, after []time.Duration, off bool, now time.Time) ([]time.Time, error) {
	if off {
		if len(after) > 0 {
			return nil, invalid("NOT_ALLOWED", "remind_after")
		}
		return nil, nil
	}
	if len(after) > MaxReminders {
		return nil, invalid("LIMIT", "remind_after")
	}
	var out []time.Time
	last := now
	for i, d := range after {
		at := now.Add(d)
		if at.Sub(last) < ReminderGap || !s.ExpireTime.IsZero() && s.ExpireTime.Sub(at) < ReminderGap {
			return nil, invalid("GAP", "remind_after[%d]", i)
		}
		out, last = append(out, at), at
	}
	if len(after) > 0 || s.ExpireTime.IsZero() {
		return out, nil
	}
	window := s.ExpireTime.Sub(now)
	for _, part := range []time.Duration{window / 2, window / 10 * 9} {
		at := now.Add(part)
		if at.Sub(last) >= ReminderGap && s.ExpireTime.Sub(at) >= ReminderGap {
			out, last = append(out, at), at
		}
	}
	return out, nil
}

// Move is the question with all its times later by the same, for one that was
// judged a moment before it was written.
func (s State) Move(by time.Duration) State {
	s.CreateTime = s.CreateTime.Add(by)
	if !s.ExpireTime.IsZero() {
		s.ExpireTime = s.ExpireTime.Add(by)
	}
	var moved []time.Time
	for _, t := range s.Reminders {
		moved = append(moved, t.Add(by))
	}
	s.Reminders = moved
	return s
}
