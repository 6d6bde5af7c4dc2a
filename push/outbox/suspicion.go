package outbox

import (
	"cmp"
	"slices"
	"time"

	"github.com/beckon-dev/beckon/push"
)

// Bounds of the judgement about refused addresses.
const (
	// ProofLife is how long a token that was taken proves our configuration.
	ProofLife = time.Hour
	// MassRefused is how many distinct tokens have to be refused before it can
	// be our configuration, and how many may die between two that were taken.
	MassRefused = 10
	// MaxTargets is how many targets are remembered; the one that was quiet for
	// longest is forgotten for another.
	MaxTargets = 64
	// probeWait is how long rows wait for the answer to a probe.
	probeWait = 5 * time.Second
)

// Shares of refused tokens above which it is our configuration: one in five,
// and one in six where a sample has to stand for all, so that its error falls
// on the side that keeps addresses.
const massShare, massShareSampled = 5, 6

// Target is whatever a vendor judges by the same configuration: the devices of
// one program, under one topic, in one environment.
type Target struct {
	App   string
	Topic string
	Env   push.Env
}

// Try is one send as the judgement sees it.
type Try struct {
	// Home is the target of the address as it is registered.
	Home Target
	// Other is set when the send went to the other environment than Home's,
	// because Home had refused the token.
	Other bool
	// Last is set when there is no further environment to try.
	Last bool
	// Token is a hash of the device token: the same one for the same token, and
	// one that nobody outside can choose.
	Token uint64
	// Probe is what Pass said.
	Probe bool
	// First is why the row was given back before.
	First string
}

// TryOf describes the send of a row to an address as Fresh returned it.
func TryOf(d push.Delivery, to push.Address, token uint64) Try {
	t := Try{Home: Target{App: to.App, Topic: to.Topic, Env: to.Env}, Token: token, First: d.Reason}
	if secondTry(d, to) {
		t.Home.Env, t.Other = to.Env.Other(), true
	}
	t.Last = t.Other || to.Env.Other() == ""
	return t
}

// secondTry reports whether a send went to the environment that the row named
// for this registration of the address.
func secondTry(d push.Delivery, sent push.Address) bool {
	return d.Env != "" && d.Env == sent.Env && d.Generation == sent.Generation
}

// Heard is what a verdict means for the try. Credentials that are refused in an
// environment we only went to for this token are no reason to pause the lane:
// Home has just accepted them, and we have no way to where the token may belong.
func (t Try) Heard(v push.Verdict) push.Verdict {
	if t.Other && (v.Class == push.Cred || v.Reason == push.ReasonNoEnvironment) {
		v.Class, v.RetryAfter = push.Suspect, 0
		v.Reason = cmp.Or(t.First, v.Reason)
	}
	return v
}

// Suspicion tells refused addresses that are dead from a configuration of ours
// that is wrong; the package documentation has its table. The zero value knows
// nothing. It is not safe for concurrent use.
type Suspicion struct{ targets map[Target]*standing }

// standing is what is known of one target.
type standing struct {
	circuit Circuit
	// probing: a probe is out.
	probing bool
	samples samples
	// taken are the latest successes of two different tokens.
	taken [2]success
	// inRow counts refusals since the last success.
	inRow int
	// seen is when the target was last heard of.
	seen time.Time
}

type success struct {
	token uint64
	at    time.Time
}

// Pass says whether a row may be sent now: wait is zero then, and probe has to
// be handed to Judge with the answer. Else it is when to ask again. A try in
// the other environment always passes: it is how a mistaken environment mends
// itself.
func (s *Suspicion) Pass(t Try, now time.Time) (probe bool, wait time.Time) {
	g := s.targets[t.Home]
	if g == nil || g.circuit.Closed() || t.Other {
		return false, time.Time{}
	}
	if now.Before(g.circuit.OpenUntil) {
		return false, g.circuit.OpenUntil
	}
	if g.probing {
		return false, now.Add(probeWait)
	}
	g.probing = true
	return true, time.Time{}
}

// Turn is what a verdict changed for its target.
type Turn int

// Turns.
const (
	NoTurn Turn = iota
	// Paused: so many of the target's tokens were refused that nothing more is
	// sent to it for a while.
	Paused
	// Resumed: it is sent to again.
	Resumed
)

// Judgement is what a verdict comes to.
type Judgement struct {
	// Verdict is what the row and its address are settled by: a Suspect has
	// become Dead, or Cred with ReasonManyRefused, or stayed.
	Verdict push.Verdict
	Turn    Turn
	// Pause and the counts describe the target at a turn to Paused.
	Pause          Pause
	Tried, Refused int
}

// Pause is a target that is not sent to.
type Pause struct {
	Target
	// Until is when a send may probe; in the past, one is awaited.
	Until time.Time
	// Reason is the vendor's word for the refusals.
	Reason string
}

// Judge folds the answer to one try, as Heard, at now.
func (s *Suspicion) Judge(t Try, v push.Verdict, now time.Time) Judgement {
	out := Judgement{Verdict: v}
	g := s.targets[t.Home]
	if v.Class == push.OK || v.Class == push.Suspect {
		g = s.standing(t.Home, now)
	}
	if g == nil {
		return out
	}
	before := g.circuit
	if t.Probe {
		g.probing = false
	}
	switch v.Class {
	case push.OK:
		s.taken(g, t, now)
	case push.Suspect:
		out.Verdict = g.refused(t, v, now)
	case push.Dead:
		if t.Probe {
			g.resume() // it knows the token, so it is ours to judge
		}
	default:
		if t.Probe {
			g.circuit = g.circuit.Observe(push.Verdict{Class: push.Backoff, Reason: before.Reason}, now)
		}
	}
	switch {
	case g.circuit.Trips > before.Trips:
		out.Turn, out.Pause = Paused, pauseOf(t.Home, g)
		out.Tried, out.Refused, _ = g.samples.count()
	case g.circuit.Closed() && !before.Closed():
		out.Turn = Resumed
	}
	return out
}

// taken notes a success where it was had. One in the other environment says that
// Home was right to refuse.
func (s *Suspicion) taken(home *standing, t Try, now time.Time) {
	if !t.Other {
		home.accept(t.Token, now)
		if t.Probe {
			home.resume()
		}
		return
	}
	home.samples.forget(t.Token)
	if !home.circuit.Closed() {
		home.resume()
	}
	there := t.Home
	there.Env = there.Env.Other()
	s.standing(there, now).accept(t.Token, now)
}

// refused is what a refusal comes to. Only Home's own word is counted: the other
// environment is right to refuse what is not its own.
func (g *standing) refused(t Try, v push.Verdict, now time.Time) push.Verdict {
	if !t.Other {
		g.inRow++
		g.samples.newest.note(t.Token, true)
		if t.Probe || g.circuit.Closed() && g.mass() {
			g.circuit = g.circuit.Observe(push.Verdict{Class: push.Cred, Reason: v.Reason}, now)
		}
	}
	switch {
	case t.Probe && !t.Last:
		return v // to the other environment, which may be the answer
	case !g.circuit.Closed():
		wait := max(g.circuit.OpenUntil.Sub(now), 0)
		return push.Verdict{Class: push.Cred, Reason: ReasonManyRefused, RetryAfter: wait, ProviderID: v.ProviderID}
	case t.Last && g.proven(t.Token, now):
		v.Class = push.Dead
	}
	return v
}

func (g *standing) accept(token uint64, now time.Time) {
	g.inRow = 0
	g.samples.newest.note(token, false)
	if g.taken[0].token != token {
		g.taken[1] = g.taken[0]
	}
	g.taken[0] = success{token: token, at: now}
}

// proven reports whether our configuration works for other tokens.
func (g *standing) proven(token uint64, now time.Time) bool {
	if g.inRow >= MassRefused {
		return false
	}
	for _, s := range g.taken {
		if s.token != token && !s.at.IsZero() && now.Sub(s.at) <= ProofLife {
			return true
		}
	}
	return false
}

// mass reports whether too many tokens are refused for it to be theirs.
func (g *standing) mass() bool {
	tried, refused, sampled := g.samples.count()
	share := massShare
	if sampled {
		share = massShareSampled
	}
	return refused >= MassRefused && refused*share > tried
}

// resume starts the count anew: what was refused under a configuration that has
// been mended is no news any more.
func (g *standing) resume() { g.circuit, g.samples = Circuit{}, samples{since: g.samples.since} }

// standing is what is known of a target, for writing.
func (s *Suspicion) standing(t Target, now time.Time) *standing {
	g := s.targets[t]
	if g == nil {
		if s.targets == nil {
			s.targets = map[Target]*standing{}
		}
		if len(s.targets) >= MaxTargets {
			delete(s.targets, s.quietest())
		}
		g = &standing{samples: samples{since: now}}
		s.targets[t] = g
	}
	g.seen = now
	g.samples.roll(now)
	return g
}

func (s *Suspicion) quietest() (quietest Target) {
	var at time.Time
	for t, g := range s.targets {
		if at.IsZero() || g.seen.Before(at) {
			quietest, at = t, g.seen
		}
	}
	return quietest
}

// Pauses are the targets that are not sent to now.
func (s *Suspicion) Pauses() []Pause {
	var out []Pause
	for t, g := range s.targets {
		if !g.circuit.Closed() {
			out = append(out, pauseOf(t, g))
		}
	}
	slices.SortFunc(out, func(a, b Pause) int {
		return cmp.Or(cmp.Compare(a.App, b.App), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Env, b.Env))
	})
	return out
}

func pauseOf(t Target, g *standing) Pause {
	return Pause{Target: t, Until: g.circuit.OpenUntil, Reason: g.circuit.Reason}
}
