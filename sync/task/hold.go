package task

import "time"

// decideHold sets and lifts the holds that keep a task as it is. STOP is past
// them: the task is on its way to its end. A review lies over a pause, because
// what the person wanted before must still hold when the review is over.
func decideHold(s State, c Command, now time.Time) []Event {
	if s.Phase.Terminal() || s.Hold.Kind == HoldStop {
		return nil
	}
	kind := s.Hold.Kind
	switch c := c.(type) {
	case Pause:
		pause := Hold{Kind: HoldPause, By: c.By, Reason: c.Reason, Since: now}
		switch {
		case kind == HoldNone:
			return []Event{Held{Hold: pause}}
		case kind == HoldReview && s.Below.Kind != HoldPause:
			return []Event{Held{Hold: s.Hold, Below: pause}}
		}
	case Resume:
		switch {
		case kind == HoldPause:
			return []Event{Held{Hold: Hold{Kind: HoldNone}}}
		case kind == HoldReview && s.Below.Kind == HoldPause:
			return []Event{Held{Hold: s.Hold}}
		}
	case Review:
		review := Hold{Kind: HoldReview, By: c.By, Reason: c.Reason, Since: now}
		switch {
		case kind == HoldNone:
			return []Event{Held{Hold: review}}
		case kind == HoldPause:
			return []Event{Held{Hold: review, Below: s.Hold}}
		}
	case Clear:
		switch {
		case s.RestoreCard != "":
			return nil // a person has to say first that it may go on
		case kind == HoldReview && s.orphaned():
			return []Event{FailedWith{Failure{
				Code: CouldNotResume,
				Text: "The server was restored from a backup while this ran, and nobody else can go on with it.",
			}}}
		case kind == HoldReview && s.Below.Kind == HoldPause:
			return []Event{Held{Hold: s.Below}}
		case kind == HoldReview:
			return []Event{Held{Hold: Hold{Kind: HoldNone}}}
		}
	}
	return nil
}

// Lifted reports whether the task was held before and is free now: its worker
// has to be told.
func Lifted(before, after State) bool {
	return before.Hold.Kind != HoldNone && after.Hold.Kind == HoldNone
}
