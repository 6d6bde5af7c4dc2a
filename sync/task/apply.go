package task

import "time"

// Apply is the state after one event. It never fails: Decide has judged.
func Apply(s State, e Event) State {
	switch e := e.(type) {
	case Claimed:
		s.Phase, s.Lease, s.Wait = Running, e.Lease, Wait{}
		s.SilenceLook = time.Time{}
	case LeaseExtended:
		s.Lease.Until = e.Until
	case CheckpointSaved:
		s.Checkpoint, s.Attempts = e.Version, 0
	case Acked:
		s.Attempts = 0
	case ProgressUpdated:
		s.Progress = e.Progress
	case LeaseReturned:
		s.Lease, s.Ended, s.Attempts = Lease{}, e.Ended, 0
	case LeaseLost:
		s.Lease = Lease{}
		if e.Counts {
			s.Attempts++
		}
	case Slept:
		s.Phase, s.Wait = Waiting, e.Wait
	case Readied:
		s.Phase, s.Wait = Ready, Wait{}
	case Looked:
		s.NoWorker, s.LookTime = e.NoWorker, e.Next
	case Spoke:
		s = spoke(s, e.Time)
	case Hushed:
		s.Hush, s.SilenceLook = e.Hush, e.Next
	case Held:
		s.Hold, s.Below, s.Expiring = e.Hold, e.Below, e.Expiring
	case Restored:
		s.Restored, s.RestoreCard = true, e.Card
	case WentOn:
		s.RestoreCard = ""
	case Offered:
		s.Result, s.OfferVersion, s.Offer = e.Result, e.Version, e.Review
	case SentBack:
		s.Result, s.Offer = nil, ""
	case CompletedWith:
		s = end(s, Completed)
		s.Result = e.Result
	case FailedWith:
		s = end(s, Failed)
		s.Failure = &e.Failure
	case ExpiredLate:
		s = end(s, Expired)
	case CanceledBy:
		s = end(s, Canceled)
	}
	return s
}

// ApplyAll folds events and stamps the end, which is the only event that needs
// to know when it happened.
func ApplyAll(s State, events []Event, now time.Time) State {
	was := s.Phase.Terminal()
	for _, e := range events {
		s = Apply(s, e)
	}
	if !was && s.Phase.Terminal() {
		s.EndTime = now
	}
	return s
}

func end(s State, p Phase) State {
	s.Phase, s.Wait, s.Lease, s.Offer, s.RestoreCard = p, Wait{}, Lease{}, "", ""
	return s
}
