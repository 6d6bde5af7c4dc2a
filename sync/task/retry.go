package task

import "time"

// RetryDelay is how long a task that lost its lease waits before it is tried
// again, after so many lost leases in a row. The first one is often a deploy and
// costs nothing; whoever loses one after the other is broken or out of room, and
// the same again at once would only use up the attempts.
func RetryDelay(attempts int) time.Duration {
	switch {
	case attempts <= 1:
		return 0
	case attempts == 2:
		return 5 * time.Second
	case attempts == 3:
		return 30 * time.Second
	case attempts == 4:
		return 2 * time.Minute
	default:
		return 10 * time.Minute
	}
}

// lostAgain is what follows from a counted lost lease that does not fail the
// task.
func lostAgain(s State, now time.Time) []Event {
	delay := RetryDelay(s.Attempts + 1)
	if delay == 0 {
		return []Event{LeaseLost{Counts: true}, Readied{}}
	}
	return []Event{LeaseLost{Counts: true}, Slept{Wait{Mode: Any, Until: now.Add(delay), Retry: true}}}
}

// RetryTime is when a task whose worker was lost is tried again; zero where it
// does not wait for that.
func (s State) RetryTime() time.Time {
	if s.Phase != Waiting || !s.Wait.Retry {
		return time.Time{}
	}
	return s.Wait.Until
}
