package decision_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/sync/decision"
)

// asks makes a question of a few actions of one class.
func asks(t *rapid.T) decision.State {
	class := decision.Class(rapid.Uint8Range(0, 4).Draw(t, "class"))
	items := 1
	if class < decision.Outward {
		items = rapid.IntRange(1, 4).Draw(t, "items")
	}
	s := decision.State{ID: "dec_1", Kind: decision.ConfirmAction, Asked: asked}
	for i := range items {
		s.Items = append(s.Items, decision.Item{
			ID: fmt.Sprint("i", i),
			Action: &decision.Action{
				App: "files", Operation: "write", ArgsJSON: []byte("{}"), Class: &class, Digest: decision.Digest{byte(100 + i)},
			},
		})
	}
	if rapid.Bool().Draw(t, "ends") {
		s.ExpireTime = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "hours")) * time.Hour)
	}
	s, err := decision.Ask(s, now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// tries is an answer by somebody, perhaps to another card.
func tries(t *rapid.T, s decision.State) decision.GiveAnswer {
	c := decision.GiveAnswer{
		Revision: s.Revision, Asked: s.Asked, View: view, WantView: view,
		Given: decision.StepProof, Needed: decision.StepProof,
		Answer: decision.Answer{Installation: rapid.SampledFrom([]string{"phone", "web"}).Draw(t, "who")},
	}
	for i, it := range s.Items {
		option := rapid.SampledFrom([]string{"approve", "deny"}).Draw(t, "option")
		c.Answer.Items = append(c.Answer.Items, decision.AnswerItem{Item: it.ID, Options: []string{option}})
		c.GrantIDs = append(c.GrantIDs, fmt.Sprint("g", i))
	}
	switch rapid.IntRange(0, 9).Draw(t, "flaw") {
	case 0:
		c.Revision++
	case 1:
		c.Asked = decision.Digest{9}
	case 2:
		c.View = decision.Digest{9}
	case 3:
		c.Needed = decision.StepVerified
	}
	return c
}

// story is one decision and what an onlooker noted of it.
type story struct {
	s       decision.State
	now     time.Time
	applied int
}

func (l *story) do(t *rapid.T, c decision.Command) decision.Outcome {
	before := l.s
	events, outcome, err := decision.Decide(l.s, c, l.now)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	l.s = decision.ApplyAll(l.s, events, l.now)
	if before.Status != decision.Pending && before.Status != l.s.Status {
		t.Fatalf("%T: left %s for %s", c, before.Status, l.s.Status)
	}
	if (l.s.Status == decision.Resolved) != (l.s.Answer != nil) {
		t.Fatalf("%T: %s with answer %v", c, l.s.Status, l.s.Answer)
	}
	return outcome
}

// answer is R10 and R11: at most one is applied, and the others hear why not.
func (l *story) answer(t *rapid.T) {
	before, c := l.s, tries(t, l.s)
	o := l.do(t, c)
	want := decision.Applied
	switch {
	case before.Status == decision.Resolved && cmp.Equal(before.Answer.Items, c.Answer.Items):
		want = decision.Same
	case before.Status == decision.Resolved:
		want = decision.Conflict
	case before.Status == decision.Expired,
		before.Status == decision.Pending && !before.ExpireTime.IsZero() && !l.now.Before(before.ExpireTime):
		want = decision.TooLate // whether or not anybody has noted the deadline
	case before.Status != decision.Pending:
		want = decision.Closed
	case c.Revision != before.Revision || c.Asked != before.Asked:
		want = decision.Stale
	case c.View != c.WantView && slices.ContainsFunc(c.Answer.Items, func(a decision.AnswerItem) bool { return a.Options[0] == "approve" }):
		want = decision.NeedsView
	case c.Needed > c.Given:
		want = decision.NeedsStepUp
	}
	if o != want {
		t.Fatalf("answer to %s: %s, want %s", before.Status, o, want)
	}
	if o != decision.Applied {
		if want == decision.TooLate && l.s.Status != decision.Expired {
			t.Fatalf("a late answer leaves %s", l.s.Status)
		}
		if !cmp.Equal(before.Answer, l.s.Answer) || !cmp.Equal(before.Grants, l.s.Grants) {
			t.Fatalf("%s changed the answer", o)
		}
		return
	}
	l.applied++
	l.granted(t, c)
}

// granted: exactly what was allowed is armed, for exactly the digest shown.
func (l *story) granted(t *rapid.T, c decision.GiveAnswer) {
	var want []decision.Grant
	var denied []decision.Digest
	life := 24 * time.Hour
	if l.s.Class == decision.Irreversible {
		life = time.Hour
	}
	for i, a := range c.Answer.Items {
		digest := l.s.Items[i].Action.Digest
		if a.Options[0] == "deny" {
			denied = append(denied, digest)
			continue
		}
		want = append(want, decision.Grant{
			ID: fmt.Sprint("g", i), Item: a.Item, Digest: digest, State: decision.Armed, ExpireTime: l.now.Add(life),
		})
	}
	if diff := cmp.Diff(want, l.s.Grants); diff != "" {
		t.Fatalf("grants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(denied, l.s.Denied()); diff != "" {
		t.Fatalf("denied (-want +got):\n%s", diff)
	}
}

// endGrants: a grant leaves ARMED once, and only for the reason there is.
func (l *story) endGrants(t *rapid.T, c decision.Command, to decision.GrantState, due func(decision.Grant) bool) {
	before := slices.Clone(l.s.Grants)
	l.do(t, c)
	for i, g := range before {
		want := g
		if g.State == decision.Armed && due(g) {
			want.State = to
		}
		if diff := cmp.Diff(want, l.s.Grants[i]); diff != "" {
			t.Fatalf("%T: grant (-want +got):\n%s", c, diff)
		}
	}
}

// R10, R11, R13 over whole stories.
func TestDecision_Stories(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &story{s: asks(t), now: now}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if l.applied > 1 || (l.applied == 1) != (l.s.Status == decision.Resolved) {
					t.Fatalf("%d answers applied, now %s", l.applied, l.s.Status)
				}
			},
			"answer":  l.answer,
			"answer2": l.answer,
			"time": func(t *rapid.T) {
				l.now = l.now.Add(time.Duration(rapid.IntRange(1, 600).Draw(t, "minutes")) * time.Minute)
			},
			"expire": func(t *rapid.T) { l.do(t, decision.Expire{}) },
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "often") > 0 {
					t.Skip()
				}
				to := rapid.SampledFrom([]decision.Status{decision.Canceled, decision.Superseded, decision.Withdrawn}).Draw(t, "to")
				l.do(t, decision.Close{To: to, Reason: "why"})
			},
			"deliver": func(t *rapid.T) {
				before := l.s
				l.do(t, decision.Deliver{})
				if before.Answer != nil && !before.Answer.DeliverTime.IsZero() && !cmp.Equal(before, l.s) {
					t.Fatal("delivered twice")
				}
			},
			"void": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "often") {
					t.Skip()
				}
				l.endGrants(t, decision.VoidGrants{}, decision.Void, func(decision.Grant) bool { return true })
			},
			"grants age": func(t *rapid.T) {
				l.endGrants(t, decision.ExpireGrants{}, decision.GrantExpired, func(g decision.Grant) bool { return !l.now.Before(g.ExpireTime) })
			},
		})
	})
}
