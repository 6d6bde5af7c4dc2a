package main

import (
	"maps"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/e2e/stack"
)

// story is the log of the phones, read for one of them or for all.
type story []stack.Entry

// alerts are the pushes that the apps took in.
func (s story) alerts() []stack.Record { return s.of("app", "arrived") }

func (s story) of(source, kind string) []stack.Record {
	var out []stack.Record
	for _, e := range s {
		if e.Source == source && e.Record.Kind == kind {
			out = append(out, e.Record)
		}
	}
	return out
}

// paired names the phones that came into the account, and who calls them.
func (s story) paired() map[string]string {
	out := map[string]string{}
	for _, e := range s {
		if e.Source == "app" && e.Record.Kind == "paired" {
			out[e.Phone] = e.Vendor
		}
	}
	return out
}

// on is what happened on one phone.
func (s story) on(phone string) story {
	return slices.DeleteFunc(slices.Clone(s), func(e stack.Entry) bool { return e.Phone != phone })
}

// complete reports whether every phone got both pushes and one its withdrawal.
func (s story) complete() bool {
	phones := s.paired()
	for phone := range phones {
		if len(s.on(phone).alerts()) < 2 {
			return false
		}
	}
	return len(phones) > 0 && len(s.of("app", "withdrawn")) > 0
}

// rangTwice reports whether a phone interrupted its person for the question and
// for the result, and for nothing else.
func (s story) rangTwice() (rings int, pushes []string, ok bool) {
	rings = len(s.of("phone", "rang"))
	for _, a := range s.alerts() {
		pushes = append(pushes, a.Push)
	}
	slices.Sort(pushes)
	return rings, pushes, rings == 2 && slices.Equal(pushes, []string{"decision", "result"})
}

// touched counts what a person did on a phone.
func (s story) touched() int {
	n := 0
	for _, kind := range []string{"opened", "acted", "dismissed"} {
		n += len(s.of("phone", kind))
	}
	return n
}

// tookBack reports whether the question left the phone because a push said so,
// after it was answered.
func (s story) tookBack(decision string, answered time.Time) bool {
	gone := s.of("app", "withdrawn")
	return len(gone) == 1 && gone[0].Decision == decision && gone[0].Removed == 1 && gone[0].Time.After(answered)
}

func names(phones map[string]string) []string { return slices.Sorted(maps.Keys(phones)) }
