package effect_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/effect"
)

// ledger is one effect and what an onlooker, who only listens, believes of it.
type ledger struct {
	s     effect.State
	now   time.Time
	went  map[uint32]bool // generations that got a GO
	alive bool            // the permission
	ended bool            // the task
	// allowed is why the next GO may come: the first, a failure said by the
	// holder, a person, a trusted probe. Empty: it may not.
	allowed string
	until   time.Time // of a person's word
	done    bool      // somebody has said that the newest generation happened
}

// do gives a command and checks what holds for all of them.
func (l *ledger) do(t *rapid.T, c effect.Command) effect.Outcome {
	before := l.s
	events, o, err := effect.Decide(l.s, c, l.now)
	if diff := cmp.Diff(before, l.s); diff != "" {
		t.Fatalf("%T: Decide changed the state:\n%s", c, diff)
	}
	if err != nil && len(events) > 0 {
		t.Fatalf("%T: events %v beside error %v", c, events, err)
	}
	l.s = effect.ApplyAll(l.s, events, l.now)
	if len(events) == 0 && !cmp.Equal(before, l.s) {
		t.Fatalf("%T changed the state without an event", c)
	}
	if len(l.s.Evidence) > effect.MaxEvidence {
		t.Fatalf("%d notes", len(l.s.Evidence))
	}
	if o != effect.Go && l.s.Generation != before.Generation && before.Status != 0 {
		t.Fatalf("%T: generation %d without a GO", c, l.s.Generation)
	}
	return o
}

// begin: R14, GO once per generation; R15, only for a reason, and never where
// somebody has said that it happened.
func (l *ledger) begin(t *rapid.T) {
	o := l.do(t, effect.Begin{
		Digest: mine, Attempt: "a", Alive: l.alive,
		Doubtful: rapid.IntRange(0, 9).Draw(t, "restored") == 0,
	})
	if o != effect.Go {
		if l.s.Status == effect.Uncertain && l.s.Generation == 1 {
			l.allowed = "" // born uncertain
		}
		return
	}
	if l.went[l.s.Generation] {
		t.Fatalf("a second GO for generation %d", l.s.Generation)
	}
	l.went[l.s.Generation] = true
	switch {
	case l.allowed == "":
		t.Fatalf("GO %d for no reason", l.s.Generation)
	case l.ended && l.s.Generation > 1:
		t.Fatalf("GO %d after the end", l.s.Generation)
	case (l.allowed == "failure" || l.allowed == "probe") && !l.alive:
		t.Fatalf("GO %d by a dead permission", l.s.Generation)
	case l.allowed == "failure" && l.s.Generation > 3:
		t.Fatalf("GO %d after failures", l.s.Generation)
	case l.allowed == "person" && !l.now.Before(l.until):
		t.Fatalf("GO %d by an old word", l.s.Generation)
	case l.done:
		t.Fatalf("GO %d though generation %d happened", l.s.Generation, l.s.Generation-1)
	}
	l.allowed, l.done = "", false
}

func (l *ledger) confirm(t *rapid.T) {
	c := effect.Confirm{
		Generation: uint32(rapid.IntRange(0, int(l.s.Generation)+1).Draw(t, "generation")),
		OK:         rapid.Bool().Draw(t, "ok"), Receipt: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "receipt"),
		Holder: rapid.Bool().Draw(t, "holder") && !l.ended,
	}
	before := l.s
	o := l.do(t, c)
	if c.Generation != before.Generation || c.Generation == 0 {
		if name(before) != name(l.s) {
			t.Fatalf("generation %d of %d moved %s to %s", c.Generation, before.Generation, name(before), name(l.s))
		}
		return
	}
	if c.OK {
		l.done = true
	}
	if (before.Status == effect.Begun || before.Status == effect.Uncertain) && o != effect.Settled {
		t.Fatalf("the truth did not settle %s", before.Status)
	}
	if !c.OK && c.Holder && o == effect.Settled {
		l.allowed = "failure"
	}
}

func (l *ledger) report(t *rapid.T) {
	c := effect.Report{
		Generation:    uint32(rapid.IntRange(0, int(l.s.Generation)+1).Draw(t, "generation")),
		Kind:          rapid.SampledFrom([]effect.Kind{effect.Found, effect.NotFound, effect.Unknown}).Draw(t, "kind"),
		Text:          rapid.SampledFrom([]string{"t1", "t2"}).Draw(t, "text"),
		Authoritative: rapid.Bool().Draw(t, "trusted"),
	}
	before := l.s
	l.do(t, c)
	if c.Generation != before.Generation || c.Generation == 0 {
		if name(before) != name(l.s) {
			t.Fatalf("evidence of generation %d of %d moved %s to %s", c.Generation, before.Generation, name(before), name(l.s))
		}
		return
	}
	switch {
	case c.Kind == effect.Found:
		l.done = true
	case c.Kind == effect.NotFound && c.Authoritative && before.Status == effect.Uncertain:
		l.allowed = "probe"
	}
}

func (l *ledger) resolve(t *rapid.T) {
	c := effect.Resolve{
		Exit: rapid.SampledFrom([]effect.Exit{effect.Happened, effect.DoIt, effect.Skip, effect.StopTask}).Draw(t, "exit"),
		By:   "ins_1", Until: l.now.Add(time.Hour),
	}
	was := l.s.Status
	o := l.do(t, c)
	if (o == effect.Settled) != (was == effect.Uncertain && (c.Exit != effect.DoIt || !l.ended)) {
		t.Fatalf("%s at %s: %d", c.Exit, was, o)
	}
	if o == effect.Settled && c.Exit == effect.DoIt {
		l.allowed, l.until = "person", c.Until
	}
}

// settles: from wherever it stands, a person reaches the end: stopping the task
// takes the lease away, and then there are exits.
func (l *ledger) settles(t *rapid.T) {
	s := l.s
	for _, c := range []effect.Command{effect.LoseLease{}, effect.EndTask{}, effect.Resolve{Exit: effect.StopTask, By: "ins_1"}} {
		events, _, err := effect.Decide(s, c, l.now)
		if err != nil {
			t.Fatalf("%T in %s: %v", c, s.Status, err)
		}
		s = effect.ApplyAll(s, events, l.now)
	}
	if s.Unsettled() {
		t.Fatalf("%s has no exit: %s", l.s.Status, name(s))
	}
	for _, exit := range l.s.Exits() {
		if _, _, err := effect.Decide(l.s, effect.Resolve{Exit: exit}, l.now); err != nil {
			t.Fatalf("%s was offered: %v", exit, err)
		}
	}
}

// R14, R15 over whole stories.
func TestEffect_Stories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &ledger{s: states()[0], now: now, went: map[uint32]bool{}, alive: true, allowed: "first"}
		often := func(t *rapid.T) {
			if rapid.IntRange(0, 3).Draw(t, "often") > 0 {
				t.Skip()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"":        l.settles,
			"begin":   l.begin,
			"begin2":  l.begin,
			"confirm": l.confirm,
			"report":  l.report,
			"resolve": l.resolve,
			"lease": func(t *rapid.T) {
				was := l.s.Status
				l.do(t, effect.LoseLease{})
				if was == effect.Begun && l.s.Status != effect.Uncertain {
					t.Fatalf("the lease is gone, and it is %s", l.s.Status)
				}
			},
			"end": func(t *rapid.T) {
				if l.s.Status == 0 {
					t.Skip() // nothing begins in a task that has ended
				}
				often(t)
				l.do(t, effect.EndTask{})
				l.ended = true
			},
			"time":   func(*rapid.T) { l.now = l.now.Add(25 * time.Minute) },
			"revoke": func(t *rapid.T) { often(t); l.alive = false },
		})
	})
}
