package decision

import (
	"slices"
	"time"

	"github.com/beckon-dev/beckon/sync/off"
)

// How long an unused grant lives.
const (
	GrantLife             = 24 * time.Hour
	GrantLifeIrreversible = time.Hour
)

// Step is how strongly a person was present, S0 to S3.
type Step uint8

// Steps, weakest first.
const (
	StepCredential Step = 1
	StepProof      Step = 2
	StepUnlocked   Step = 3
	StepVerified   Step = 4
	// StepOtherDevice is never reached: this kind of installation cannot.
	StepOtherDevice Step = 5
)

// Outcome is what an answer met.
type Outcome uint8

// Outcomes, as on the wire.
const (
	Applied     Outcome = 1
	Same        Outcome = 2
	Conflict    Outcome = 3
	Stale       Outcome = 4
	TooLate     Outcome = 5
	Closed      Outcome = 6
	NeedsView   Outcome = 7
	NeedsStepUp Outcome = 8
)

// String is the word that people and logs see.
func (o Outcome) String() string {
	names := [...]string{"", "APPLIED", "SAME", "CONFLICT", "STALE", "EXPIRED", "CLOSED", "NEEDS_VIEW", "NEEDS_STEP_UP"}
	if int(o) < len(names) {
		return names[o]
	}
	return "?"
}

// Command is one thing that can happen to a decision.
type Command interface{ command() }

// GiveAnswer is the one way a decision is resolved.
type GiveAnswer struct {
	Revision uint32
	Asked    Digest
	View     Digest
	// WantView is the view digest of somebody who opened all that must be.
	WantView Digest
	Answer   Answer
	// Given and Needed are how strongly the person was and has to be present.
	Given, Needed Step
	// GrantIDs names the grants an approval arms, one per item.
	GrantIDs []string
	// Misfit is what the caller found wrong with edited arguments or the content
	// of a form, held against the schemas of the card in this revision; nil
	// where nothing was.
	Misfit error
}

// Expire closes it in silence.
type Expire struct{}

// Close ends it without an answer.
type Close struct {
	// To is Canceled, Superseded or Withdrawn.
	To     Status
	Reason string
}

// Amend changes the card under the person's eyes: whoever saw the old one has
// to look again.
type Amend struct {
	// Card has the new title, reason, items, class and digest; the rest of it is
	// not read.
	Card State
}

// Deliver notes that the agent acknowledged the answer.
type Deliver struct{}

// VoidGrants ends what is armed: the task is over or the approval taken back.
type VoidGrants struct{}

// ExpireGrants ends what was armed for too long.
type ExpireGrants struct{}

// UseGrant consumes an armed grant for one effect with exactly its digest.
type UseGrant struct {
	ID     string
	Effect string
	Digest Digest
}

// RevokeGrant takes one armed grant back. One that is not armed stays as it is.
type RevokeGrant struct {
	ID string
}

func (GiveAnswer) command()   {}
func (Expire) command()       {}
func (Close) command()        {}
func (Amend) command()        {}
func (Deliver) command()      {}
func (VoidGrants) command()   {}
func (ExpireGrants) command() {}
func (UseGrant) command()     {}
func (RevokeGrant) command()  {}

// Event is one fact that follows from a command.
type Event interface{ event() }

type (
	// ResolvedBy: the answer won.
	ResolvedBy struct {
		Answer Answer
		Grants []Grant
	}
	// ClosedAs: it ended without an answer.
	ClosedAs struct {
		To     Status
		Reason string
	}
	// Amended: the card is another one now.
	Amended struct{ Card State }
	// Delivered: the agent has it.
	Delivered struct{}
	// GrantsEnded: these grants are now in that state.
	GrantsEnded struct {
		IDs []string
		To  GrantState
	}
	// GrantUsed: this effect has consumed it.
	GrantUsed struct{ ID, Effect string }
)

func (ResolvedBy) event()  {}
func (ClosedAs) event()    {}
func (Amended) event()     {}
func (Delivered) event()   {}
func (GrantsEnded) event() {}
func (GrantUsed) event()   {}

// Decide says what follows from a command. The outcome is set for GiveAnswer
// alone. An error means that the answer does not fit the question.
func Decide(s State, c Command, now time.Time) ([]Event, Outcome, error) {
	switch c := c.(type) {
	case GiveAnswer:
		return decideAnswer(s, c, now)
	case Expire:
		if s.Status != Pending || !s.Late(now) {
			return nil, 0, nil
		}
		return []Event{expired()}, 0, nil
	case Close:
		if s.Status != Pending {
			return nil, 0, nil
		}
		return []Event{ClosedAs(c)}, 0, nil
	case Amend:
		if s.Status != Pending {
			return nil, 0, nil
		}
		if s.Late(now) {
			return []Event{expired()}, 0, nil
		}
		return []Event{Amended(c)}, 0, nil
	case Snooze:
		events, err := decideSnooze(s, c, now)
		return events, 0, err
	case Remind:
		return decideRemind(s, now), 0, nil
	case Restore:
		return decideRestore(s, now), 0, nil
	case Deliver:
		if s.Status != Resolved || !s.Answer.DeliverTime.IsZero() {
			return nil, 0, nil
		}
		return []Event{Delivered{}}, 0, nil
	case VoidGrants:
		return endGrants(s, Void, func(Grant) bool { return true }), 0, nil
	case UseGrant:
		events, err := decideUse(s, c, now)
		return events, 0, err
	case RevokeGrant:
		return endGrants(s, Void, func(g Grant) bool { return g.ID == c.ID }), 0, nil
	case ExpireGrants:
		return endGrants(s, GrantExpired, func(g Grant) bool { return !now.Before(g.ExpireTime) }), 0, nil
	}
	return nil, 0, nil
}

func decideAnswer(s State, c GiveAnswer, now time.Time) ([]Event, Outcome, error) {
	switch {
	case s.Status == Resolved && !off.Rule("R10"):
		if SameAnswer(s.Answer.Items, c.Answer.Items) {
			return nil, Same, nil
		}
		return nil, Conflict, nil
	case s.Status == Expired:
		return nil, TooLate, nil
	case s.Status != Pending && s.Status != Resolved:
		return nil, Closed, nil
	case s.Late(now):
		// The deadline decides, not whether somebody has noted it yet.
		return []Event{expired()}, TooLate, nil
	case c.Revision != s.Revision || c.Asked != s.Asked:
		return nil, Stale, nil
	}
	if err := fits(s, c.Answer.Items); err != nil {
		return nil, 0, err
	}
	if c.Misfit != nil {
		return nil, 0, c.Misfit
	}
	if s.Raises(c.Answer.Items) && c.View != c.WantView {
		return nil, NeedsView, nil
	}
	if c.Given < c.Needed {
		return nil, NeedsStepUp, nil
	}
	return []Event{ResolvedBy{Answer: c.Answer, Grants: grants(s, c, now)}}, Applied, nil
}

func expired() Event {
	return ClosedAs{To: Expired, Reason: "Nobody answered in time. Nothing was done."}
}

func grants(s State, c GiveAnswer, now time.Time) []Grant {
	var out []Grant
	for i, a := range c.Answer.Items {
		digest, ok := s.permitted(a)
		if !ok || s.Kind.OfServer() {
			continue // what a question of the server allows is settled at once
		}
		out = append(out, Grant{ID: c.GrantIDs[i], Item: a.Item, Digest: digest, State: Armed, ExpireTime: now.Add(LifeOf(s.Class))})
	}
	return out
}

// LifeOf is how long a permission for an action of this class lives unused.
func LifeOf(c Class) time.Duration {
	if c >= Irreversible {
		return GrantLifeIrreversible
	}
	return GrantLife
}

func endGrants(s State, to GrantState, which func(Grant) bool) []Event {
	var ids []string
	for _, g := range s.Grants {
		if g.State == Armed && which(g) {
			ids = append(ids, g.ID)
		}
	}
	if ids == nil {
		return nil
	}
	return []Event{GrantsEnded{IDs: ids, To: to}}
}

// SameAnswer compares what was chosen and written, not who or when.
func SameAnswer(a, b []AnswerItem) bool {
	return slices.EqualFunc(a, b, func(x, y AnswerItem) bool {
		xo, yo := slices.Clone(x.Options), slices.Clone(y.Options)
		slices.Sort(xo)
		slices.Sort(yo)
		return x.Item == y.Item && x.Text == y.Text && slices.Equal(xo, yo) && x.Edited == y.Edited && x.ContentDigest == y.ContentDigest
	})
}

// Apply is the state after one event at the given time. It never fails.
func Apply(s State, e Event, now time.Time) State {
	switch e := e.(type) {
	case ResolvedBy:
		a := e.Answer
		a.Time = now
		s.Status, s.Answer, s.Grants, s.CloseTime = Resolved, &a, e.Grants, now
	case ClosedAs:
		s.Status, s.CloseReason, s.CloseTime = e.To, e.Reason, now
	case Amended:
		s.Title, s.Reason, s.Items, s.Class, s.Asked = e.Card.Title, e.Card.Reason, e.Card.Items, e.Card.Class, e.Card.Asked
		s.About, s.AboutVersion = e.Card.About, e.Card.AboutVersion
		s.Revision++
	case Snoozed:
		s.SnoozeUntil = e.Until
		if e.Until.IsZero() {
			return remind(s, now)
		}
	case Reminded:
		return remind(s, now)
	case Passed:
		round := s.Round + e.Calls
		if s.Snoozed(now) {
			s.Reminders = slices.DeleteFunc(slices.Clone(s.Reminders), func(t time.Time) bool { return !now.Before(t) })
		} else {
			s = remind(s, now)
		}
		s.Round = round
	case Delivered:
		a := *s.Answer
		a.DeliverTime = now
		s.Answer = &a
	case GrantsEnded:
		s.Grants = slices.Clone(s.Grants)
		for i, g := range s.Grants {
			if slices.Contains(e.IDs, g.ID) {
				s.Grants[i].State = e.To
			}
		}
	case GrantUsed:
		s.Grants = slices.Clone(s.Grants)
		for i, g := range s.Grants {
			if g.ID == e.ID {
				s.Grants[i].State, s.Grants[i].Effect, s.Grants[i].UseTime = Consumed, e.Effect, now
			}
		}
	}
	return s
}

// ApplyAll folds events.
func ApplyAll(s State, events []Event, now time.Time) State {
	for _, e := range events {
		s = Apply(s, e, now)
	}
	return s
}
