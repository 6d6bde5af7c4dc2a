package effect

import (
	"slices"
	"time"
)

// Apply is the state after one event at the given time. It never fails: Decide
// has judged.
func Apply(s State, e Event, now time.Time) State {
	switch e := e.(type) {
	case Went:
		s.Status, s.Generation, s.Attempt, s.BeginTime = Begun, e.Generation, e.Attempt, now
		s.Receipt, s.UncertainTime, s.SettleTime = "", time.Time{}, time.Time{}
		s.Exit, s.By = 0, ""
		s = shut(s)
		if s.CreateTime.IsZero() {
			s.CreateTime = now
		}
	case Doubted:
		s.Status, s.Generation, s.CreateTime, s.UncertainTime = Uncertain, 1, now, now
	case LeftUncertain:
		s.Status, s.UncertainTime = Uncertain, now
	case Reopened:
		s = shut(s)
		s.Status, s.Generation, s.Skipped = Uncertain, e.Generation, e.Generation-1
		s.Attempt, s.Receipt, s.Exit, s.By = "", "", 0, ""
		s.BeginTime, s.UncertainTime, s.SettleTime = time.Time{}, now, time.Time{}
	case SettledAs:
		s = shut(s)
		s.Status, s.Receipt, s.Opening, s.SettleTime = e.To, e.Receipt, e.Opening, now
	case ResolvedAs:
		s.Status, s.Exit, s.By, s.SettleTime = ResolvedByHuman, e.Exit, e.By, now
		if e.Exit == DoIt {
			s.Opening, s.OpenUntil = AfterPerson, e.Until
		}
	case Noted:
		s.Evidence = append(slices.Clone(s.Evidence), e.Note)
		if n := len(s.Evidence) - MaxEvidence; n > 0 {
			s.Evidence, s.Dropped = s.Evidence[n:], s.Dropped+uint32(n)
		}
	case Ended:
		s.TaskEnded = true
		s = shut(s)
	}
	return s
}

func shut(s State) State {
	s.Opening, s.OpenUntil = Shut, time.Time{}
	return s
}

// ApplyAll folds events.
func ApplyAll(s State, events []Event, now time.Time) State {
	for _, e := range events {
		s = Apply(s, e, now)
	}
	return s
}
