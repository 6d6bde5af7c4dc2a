package task

import (
	"bytes"
	"time"
)

// Timer wakes its task at a time. Its key is the agent's own name for it within
// the task: set again with the same words it is the same timer, also after it
// has fired, so that work which runs anew after a crash does not wait anew.
type Timer struct {
	Task string
	Key  string
	// At is when it fires. After is what the agent asked for where it asked for a
	// span; zero where it named a time.
	At    time.Time
	After time.Duration
	// Data is the agent's own, handed back when the timer fires.
	Data []byte
	// FireTime is when it fired; zero before.
	FireTime   time.Time
	CreateTime time.Time
}

// Fired reports whether it has.
func (t Timer) Fired() bool { return !t.FireTime.IsZero() }

// Due reports whether it has to fire now.
func (t Timer) Due(now time.Time) bool { return !t.Fired() && !now.Before(t.At) }

// Again reports whether a request says the same as the one that set this timer:
// the same time, or the same span from whenever it was asked.
func (t Timer) Again(asked Timer) bool {
	if t.After != asked.After || !bytes.Equal(t.Data, asked.Data) {
		return false
	}
	return t.After > 0 || t.At.Equal(asked.At)
}
