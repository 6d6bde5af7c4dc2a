package task

import "time"

// Hush says what a silence has led to so far.
type Hush uint8

// What a silence leads to, one after the other, each once.
const (
	// HushNone: nothing yet.
	HushNone Hush = 0
	// HushReminded: the worker was reminded.
	HushReminded Hush = 1
	// HushTold: the timeline says that nothing was said.
	HushTold Hush = 2
)

// wordsApart is the least time between two words that are noted: chatter must
// not write the task again and again.
const wordsApart = time.Second

// NextSilence is when the server looks whether the worker has said something;
// zero where it does not.
func (s State) NextSilence() time.Time {
	if s.Phase != Running {
		return time.Time{}
	}
	return s.SilenceLook
}

// decideSpeak notes a word of the holder. The time of the next look stays, and
// finds the newer word then.
func decideSpeak(s State, now time.Time) []Event {
	if s.SilenceAfter <= 0 || s.Hush == HushNone && now.Sub(s.SpokeTime) < wordsApart {
		return nil
	}
	return []Event{Spoke{Time: now}}
}

// decideListen is what follows from the silence of a worker that still holds its
// lease. While the server was down nobody could be heard.
func decideListen(s State, c Listen, now time.Time) []Event {
	if s.NextSilence().IsZero() || now.Before(s.SilenceLook) {
		return nil
	}
	since := latest(s.SpokeTime, c.Started)
	switch {
	case now.Sub(since) < s.SilenceAfter:
		return []Event{Hushed{Hush: s.Hush, Next: since.Add(s.SilenceAfter)}}
	case s.Hush == HushNone:
		return []Event{Hushed{Hush: HushReminded, Next: now.Add(s.SilenceAfter)}}
	default:
		return []Event{Hushed{Hush: HushTold}}
	}
}

// spoke is the state after a word.
func spoke(s State, at time.Time) State {
	if s.SilenceAfter <= 0 {
		return s
	}
	s.SpokeTime, s.Hush = at, HushNone
	if s.SilenceLook.IsZero() {
		s.SilenceLook = at.Add(s.SilenceAfter)
	}
	return s
}
