package decision_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

func TestReminders_Placed(t *testing.T) {
	t.Parallel()
	minutes := func(list ...int) (out []time.Time) {
		for _, m := range list {
			out = append(out, now.Add(time.Duration(m)*time.Minute))
		}
		return out
	}
	after := func(list ...int) (c decision.Calls) {
		for _, m := range list {
			c.After = append(c.After, time.Duration(m)*time.Minute)
		}
		return c
	}
	for name, c := range map[string]struct {
		window int // minutes; 0 is no end
		calls  decision.Calls
		want   []time.Time
		err    string
	}{
		"half and nine tenths":      {100, decision.Calls{}, minutes(50, 90), ""},
		"too short for the second":  {9, decision.Calls{}, []time.Time{now.Add(270 * time.Second)}, ""},
		"too short for any":         {1, decision.Calls{}, nil, ""},
		"without an end":            {0, decision.Calls{}, nil, ""},
		"as asked":                  {100, after(1, 2, 99), minutes(1, 2, 99), ""},
		"as asked, without an end":  {0, after(5), minutes(5), ""},
		"never":                     {100, decision.Calls{Off: true}, nil, ""},
		"never and sometimes":       {100, decision.Calls{Off: true, After: []time.Duration{time.Minute}}, nil, "decision: remind_after: NOT_ALLOWED"},
		"too many":                  {100, after(1, 2, 3, 4), nil, "decision: remind_after: LIMIT"},
		"too close to each other":   {100, decision.Calls{After: []time.Duration{time.Minute, 119 * time.Second}}, nil, "decision: remind_after[1]: GAP"},
		"too close to the question": {100, decision.Calls{After: []time.Duration{59 * time.Second}}, nil, "decision: remind_after[0]: GAP"},
		"too close to its end":      {100, decision.Calls{After: []time.Duration{99*time.Minute + 1}}, nil, "decision: remind_after[0]: GAP"},
		"in no order":               {100, after(5, 3), nil, "decision: remind_after[1]: GAP"},
	} {
		s := decision.State{Kind: decision.Text, Items: []decision.Item{{ID: "i", Question: "?"}}}
		if c.window > 0 {
			s.ExpireTime = now.Add(time.Duration(c.window) * time.Minute)
		}
		s, err := decision.AskWith(s, c.calls, now)
		if text(err) != c.err {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if diff := cmp.Diff(c.want, s.Reminders); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What time does next, and what it has done: reminders that pass while a
// question is put aside are not made up for.
func TestSnooze_Story(t *testing.T) {
	t.Parallel()
	s := question() // an hour, so reminders at 30 and 54 minutes
	step := func(c decision.Command, at time.Duration) {
		t.Helper()
		events, _, err := decision.Decide(s, c, now.Add(at))
		if err != nil || len(events) != 1 {
			t.Fatalf("%T: %d events, %v", c, len(events), err)
		}
		s = decision.ApplyAll(s, events, now.Add(at))
	}
	next := func(at time.Duration) {
		t.Helper()
		if got := s.NextTime().Sub(now); got != at {
			t.Fatalf("next at %v, want %v", got, at)
		}
	}
	next(30 * time.Minute)
	step(decision.Snooze{Until: now.Add(40 * time.Minute)}, time.Minute)
	next(40 * time.Minute)
	if s.Status != decision.Pending || s.Wanted(now.Add(39*time.Minute)) || !s.Wanted(now.Add(40*time.Minute)) || s.Answer != nil {
		t.Errorf("put aside: %+v", s)
	}
	step(decision.Remind{}, 40*time.Minute)
	next(54 * time.Minute)
	if s.Round != 1 || !s.SnoozeUntil.IsZero() || s.Revision != 1 {
		t.Errorf("back: round %d until %v", s.Round, s.SnoozeUntil)
	}
	step(decision.Remind{}, 55*time.Minute)
	next(time.Hour)
	if s.Round != 2 || s.Reminders != nil {
		t.Errorf("reminded: round %d, %v", s.Round, s.Reminders)
	}
	// Whoever put it aside can still answer, and bring it back.
	step(decision.Snooze{Until: now.Add(time.Hour)}, 56*time.Minute)
	aside := s
	step(decision.Snooze{}, 57*time.Minute)
	if s.Round != 3 || !s.Wanted(now.Add(57*time.Minute)) {
		t.Errorf("brought back: round %d", s.Round)
	}
	if _, o, err := decision.Decide(aside, answer("approve", "deny"), now.Add(58*time.Minute)); o != decision.Applied || err != nil {
		t.Errorf("an answer to what was put aside: %v, %v", o, err)
	}
}

func TestEvidence(t *testing.T) {
	t.Parallel()
	piece := decision.Evidence{Kind: decision.EvidenceDiff, SHA256: one, Bytes: 10, MustView: true}
	ask := func(list ...decision.Evidence) (decision.State, error) {
		return decision.Ask(decision.State{Kind: decision.Text, Items: []decision.Item{{ID: "i", Question: "?", Evidence: list}}}, now)
	}
	for want, list := range map[string][]decision.Evidence{
		"decision: items[0].evidence[0].sha256: MISSING":   {{Kind: 1, Bytes: 1}},
		"decision: items[0].evidence[0].bytes: MISSING":    {{Kind: 1, SHA256: one}},
		"decision: items[0].evidence[1].sha256: DUPLICATE": {piece, piece},
		"decision: items[0].evidence: LIMIT":               slices.Repeat([]decision.Evidence{piece}, decision.MaxEvidence+1),
	} {
		if _, err := ask(list...); text(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s, err := ask(piece, decision.Evidence{Kind: decision.EvidenceDoc, SHA256: two, Bytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.MustView(); len(got) != 1 || got[0] != one {
		t.Errorf("to be opened: %v", got)
	}
	more := map[string][]decision.Evidence{"i": {{Kind: decision.EvidenceCost, SHA256: edited, Bytes: 3, MustView: true}}}
	card, changed, err := s.AmendedBy(decision.Amendment{Evidence: more})
	if err != nil || !changed || len(card.MustView()) != 2 || len(s.Items[0].Evidence) != 2 {
		t.Errorf("amended: %v, %v, %d", err, changed, len(s.Items[0].Evidence))
	}
	if _, changed, err := card.AmendedBy(decision.Amendment{Evidence: more}); changed || err != nil {
		t.Errorf("again: %v, %v", changed, err)
	}
	if _, _, err := s.AmendedBy(decision.Amendment{Evidence: map[string][]decision.Evidence{"j": nil}}); text(err) != "decision: evidence: UNKNOWN_ITEM" {
		t.Error(err)
	}
	s.Revision = decision.MaxRevisions
	if _, _, err := s.AmendedBy(decision.Amendment{Reason: "more"}); text(err) != "decision: revision: LIMIT" {
		t.Error(err)
	}
}

// A card never offers what the host of its program cannot honour.
func TestOrigin_Honoured(t *testing.T) {
	t.Parallel()
	class := decision.WriteReversible
	ask := func(o decision.Origin, change func(*decision.State)) (decision.State, error) {
		s := decision.State{Kind: decision.ConfirmAction, Origin: &o, Items: []decision.Item{{ID: "i", Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte("{}"), Class: &class}}}}
		change(&s)
		return decision.Ask(s, now)
	}
	same := func(*decision.State) {}
	editing := func(s *decision.State) {
		s.Items[0].Options = []decision.Option{{ID: "y", Kind: decision.AllowOnce}, {ID: "e", Kind: decision.Edit}, {ID: "n", Kind: decision.RejectOnce}}
	}
	several := func(s *decision.State) {
		s.Kind, s.Items = decision.Choose, []decision.Item{{ID: "i", Question: "?", Min: 1, Max: 2, Options: []decision.Option{{ID: "a", Kind: decision.Pick}, {ID: "b", Kind: decision.Pick}}}}
	}
	writing := func(s *decision.State) { s.Kind, s.Items = decision.Text, []decision.Item{{ID: "i", Question: "?"}} }
	for name, c := range map[string]struct {
		origin decision.Origin
		change func(*decision.State)
		want   string
	}{
		"nothing special":    {decision.Origin{}, same, ""},
		"an edit it takes":   {decision.Origin{CanEdit: true}, editing, ""},
		"an edit":            {decision.Origin{CanText: true}, editing, "decision: items[0].options[1].kind: HOST_CANNOT"},
		"several it takes":   {decision.Origin{CanMulti: true}, several, ""},
		"several":            {decision.Origin{CanEdit: true}, several, "decision: items[0].multi: HOST_CANNOT"},
		"words it takes":     {decision.Origin{CanText: true}, writing, ""},
		"words":              {decision.Origin{}, writing, "decision: items[0].options[0].text: HOST_CANNOT"},
		"too long a request": {decision.Origin{Raw: make([]byte, decision.MaxOrigin+1)}, same, "decision: origin.raw: LIMIT"},
		"no wait":            {decision.Origin{HostTimeout: -1}, same, "decision: origin.host_timeout: LIMIT"},
	} {
		if _, err := ask(c.origin, c.change); text(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	// What is only offered beside is left out.
	s, err := ask(decision.Origin{HostTimeout: time.Minute}, same)
	if err != nil || s.Items[0].Options[1].Text != decision.TextNone || !s.ExpireTime.Equal(now.Add(time.Minute)) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, _ := ask(decision.Origin{CanText: true}, same); s.Items[0].Options[1].Text != decision.TextOptional || !s.ExpireTime.IsZero() {
		t.Errorf("%+v", s.Items[0].Options)
	}
	if s, _ := ask(decision.Origin{HostTimeout: time.Hour}, func(s *decision.State) { s.ExpireTime = now.Add(time.Minute) }); !s.ExpireTime.Equal(now.Add(time.Minute)) {
		t.Errorf("a longer wait moved the end to %v", s.ExpireTime)
	}
}
