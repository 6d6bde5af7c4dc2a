package outbox

import (
	"maps"
	"time"
)

// Bounds of what is remembered about the tokens of one target.
const (
	// SampleSize is how many tokens one sample holds; a target has two samples.
	SampleSize = 1024
	// sampleLife is for how long a sample takes tokens. With the one before it,
	// what is known reaches back between one and two lives, which is at most
	// an hour.
	sampleLife = 30 * time.Minute
)

// sample is how a bounded number of distinct tokens fared last. While they fit,
// it is exact. Beyond that it keeps, by their hash, one token in 2^shift: an
// even choice, so that shares stay true within about two in a hundred.
type sample struct {
	// refused is false for a token that was taken.
	refused map[uint64]bool
	shift   uint
}

func (s *sample) note(token uint64, refused bool) {
	if !chosen(token, s.shift) {
		return
	}
	if s.refused == nil {
		s.refused = map[uint64]bool{}
	}
	s.refused[token] = refused
	for len(s.refused) > SampleSize {
		s.shift++
		maps.DeleteFunc(s.refused, func(token uint64, _ bool) bool { return !chosen(token, s.shift) })
	}
}

func chosen(token uint64, shift uint) bool { return token&(1<<shift-1) == 0 }

// samples are the newest sample and the one before it.
type samples struct {
	newest, older sample
	since         time.Time
}

// roll lets go of what is too old at now.
func (s *samples) roll(now time.Time) {
	switch age := now.Sub(s.since); {
	case age < sampleLife:
	case age < 2*sampleLife:
		*s = samples{older: s.newest, since: now}
	default:
		*s = samples{since: now}
	}
}

func (s *samples) forget(token uint64) {
	delete(s.newest.refused, token)
	delete(s.older.refused, token)
}

// count is how many tokens were tried and how many of them refused when last
// tried; sampled says that it is a share of them, not all.
func (s *samples) count() (tried, refused int, sampled bool) {
	shift := max(s.newest.shift, s.older.shift)
	add := func(token uint64, was bool) {
		if !chosen(token, shift) {
			return
		}
		tried++
		if was {
			refused++
		}
	}
	for token, was := range s.newest.refused {
		add(token, was)
	}
	for token, was := range s.older.refused {
		if _, again := s.newest.refused[token]; !again {
			add(token, was)
		}
	}
	return tried, refused, shift > 0
}
