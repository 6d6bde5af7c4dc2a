package thread

import "time"

// View is where a person left a thread. The last one recorded counts: no clock
// of a client orders anything.
type View struct {
	Thread string
	// Anchor is the position of the item at the top of the screen, 0 for the
	// end; Offset how much of it was scrolled past, in thousandths.
	Anchor uint64
	Offset uint32
	// Decision is the question that was open.
	Decision            string
	Installation, Label string
	Time                time.Time
}

// Leave gives a view its place in a thread: what is beyond the head is the end.
func Leave(s State, v View, now time.Time) View {
	v.Thread, v.Time = s.ID, now
	if v.Anchor > s.Head || v.Anchor == 0 {
		v.Anchor, v.Offset = 0, 0
	}
	return v
}
