package task

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// NoWorker says that a claimable task waits for a worker and none is there that
// may have it.
type NoWorker struct {
	// Since is when one was last there; zero where people are told nothing.
	Since time.Time
	// For is what it waits for, in words: labels, or the name of its agent.
	For string
	// AskTime is when the person is asked what to do.
	AskTime time.Time
	// Card is the open question about it; empty while none is.
	Card string
}

// Patience is how long a claimable task may be without a worker.
type Patience struct {
	// Show is when people are told, Ask when the person is asked, and Again when
	// one who went on waiting is asked anew.
	Show, Ask, Again time.Duration
}

// NextLook is when the server looks whether somebody is there for a claimable
// task; zero while it is not one.
func (s State) NextLook() time.Time {
	if !s.Claimable() {
		return time.Time{}
	}
	return s.LookTime
}

// Attended is the task as its queue sees it: one that has just become claimable
// begins to wait for a worker, and any other waits for none.
func (s State) Attended(p Patience, now time.Time) State {
	switch {
	case !s.Claimable():
		s.ReadyTime, s.LookTime, s.NoWorker = time.Time{}, time.Time{}, NoWorker{}
	case s.ReadyTime.IsZero():
		s.ReadyTime, s.LookTime = now, now.Add(p.Show)
	}
	return s
}

// decideLook is what the server makes of the workers it has seen. What people
// are told stands until a worker was there; a start of the server alone, after
// which nothing is known of workers, takes nothing back.
func decideLook(s State, c Look, now time.Time) []Event {
	if !s.Claimable() || now.Before(s.LookTime) {
		return nil
	}
	told := s.NoWorker
	if !told.Since.IsZero() && c.Seen.After(told.Since) {
		told = NoWorker{}
	}
	if told.Since.IsZero() {
		since := latest(s.ReadyTime, c.Seen, c.Started)
		if now.Sub(since) < c.Patience.Show {
			return []Event{Looked{Next: since.Add(c.Patience.Show)}}
		}
		told = NoWorker{Since: since, For: c.For, AskTime: since.Add(c.Patience.Ask)}
	}
	if told.Card == "" && !now.Before(told.AskTime) {
		told.Card = c.Card
	}
	// The longer nobody comes, the rarer the look: as often again as it has
	// waited so far.
	next := now.Add(min(max(now.Sub(told.Since), c.Patience.Show), c.Patience.Ask))
	if told.Card == "" && next.After(told.AskTime) {
		next = told.AskTime
	}
	return []Event{Looked{NoWorker: told, Next: next}}
}

// decideKeepWaiting is a person's word: not now, ask again later.
func decideKeepWaiting(s State, c KeepWaiting, now time.Time) []Event {
	if !s.Claimable() || s.NoWorker.Card == "" {
		return nil
	}
	told := s.NoWorker
	told.Card, told.AskTime = "", now.Add(c.Again)
	return []Event{Looked{NoWorker: told, Next: latest(now, s.LookTime)}}
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

// maxWanted bounds the words for what a task waits for, in bytes.
const maxWanted = 240

// Wanted says in words what a worker of this task needs: its labels, or, without
// any, to be of the agent with this name.
func (s State) Wanted(agent string) string {
	if len(s.Labels) == 0 {
		return cut(agent, maxWanted)
	}
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(s.Labels)) {
		pairs = append(pairs, k+"="+s.Labels[k])
	}
	return cut(strings.Join(pairs, ", "), maxWanted)
}

// cut keeps a text within so many bytes, between characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
