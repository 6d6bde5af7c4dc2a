package decision_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

// An answer that does not fit its question is an error with the field.
func TestAnswer_Fits(t *testing.T) {
	t.Parallel()
	s, err := decision.Ask(decision.State{Kind: decision.Choose, Asked: asked, Items: []decision.Item{{ID: "i1", Question: "which?", Options: []decision.Option{
		{ID: "plain", Kind: decision.Pick}, {ID: "words", Kind: decision.Pick, Text: decision.TextRequired}, {ID: "maybe", Kind: decision.Pick, Text: decision.TextOptional},
	}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	item := func(text string, options ...string) []decision.AnswerItem {
		return []decision.AnswerItem{{Item: "i1", Options: options, Text: text}}
	}
	for _, test := range []struct {
		name  string
		items []decision.AnswerItem
		want  decision.InvalidError // zero if it fits
	}{
		{"plain", item("", "plain"), decision.InvalidError{}},
		{"words", item("so", "words"), decision.InvalidError{}},
		{"words that may be", item("so", "maybe"), decision.InvalidError{}},
		{"no words that may be", item("", "maybe"), decision.InvalidError{}},
		{"no answer", nil, decision.InvalidError{Field: "items", Reason: "ITEMS_DIFFER"}},
		{"two answers", append(item("", "plain"), item("", "plain")...), decision.InvalidError{Field: "items", Reason: "ITEMS_DIFFER"}},
		{"of another item", []decision.AnswerItem{{Item: "i2", Options: []string{"plain"}}}, decision.InvalidError{Field: "items[0].item_id", Reason: "ITEMS_DIFFER"}},
		{"no option", item(""), decision.InvalidError{Field: "items[0].option_ids", Reason: "ONE_OPTION"}},
		{"two options", item("", "plain", "maybe"), decision.InvalidError{Field: "items[0].option_ids", Reason: "ONE_OPTION"}},
		{"an option nobody offered", item("", "what"), decision.InvalidError{Field: "items[0].option_ids[0]", Reason: "UNKNOWN_OPTION"}},
		{"no words", item("", "words"), decision.InvalidError{Field: "items[0].text", Reason: "MISSING"}},
		{"words nobody asked for", item("so", "plain"), decision.InvalidError{Field: "items[0].text", Reason: "NOT_ALLOWED"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			events, outcome, err := decision.Decide(s, decision.GiveAnswer{Revision: 1, Asked: asked, Answer: decision.Answer{Items: test.items}}, now)
			var got decision.InvalidError
			if invalid := new(decision.InvalidError); errors.As(err, &invalid) {
				got = *invalid
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if fits := test.want.Reason == ""; fits != (outcome == decision.Applied) || fits != (len(events) == 1) {
				t.Errorf("outcome %s, events %v", outcome, events)
			}
		})
	}
}

// What the winner chose and wrote makes an answer the same; who and when do not.
func TestSameAnswer(t *testing.T) {
	t.Parallel()
	base := []decision.AnswerItem{{Item: "i", Options: []string{"b", "a"}, Text: "x"}}
	for _, test := range []struct {
		name string
		with []decision.AnswerItem
		want bool
	}{
		{"itself", base, true},
		{"options in another order", []decision.AnswerItem{{Item: "i", Options: []string{"a", "b"}, Text: "x"}}, true},
		{"other options", []decision.AnswerItem{{Item: "i", Options: []string{"a", "c"}, Text: "x"}}, false},
		{"fewer options", []decision.AnswerItem{{Item: "i", Options: []string{"a"}, Text: "x"}}, false},
		{"other words", []decision.AnswerItem{{Item: "i", Options: []string{"a", "b"}, Text: "y"}}, false},
		{"other item", []decision.AnswerItem{{Item: "j", Options: []string{"a", "b"}, Text: "x"}}, false},
		{"nothing", nil, false},
	} {
		if got := decision.SameAnswer(base, test.with); got != test.want || decision.SameAnswer(test.with, base) != got {
			t.Errorf("%s: %v, want %v, and the same the other way", test.name, got, test.want)
		}
	}
}

// Recorded and delivered are two facts with two times.
func TestDeliver_StampsOnce(t *testing.T) {
	t.Parallel()
	s := at(decision.Resolved)
	for _, later := range []time.Duration{time.Minute, time.Hour} {
		events, _, err := decision.Decide(s, decision.Deliver{}, now.Add(later))
		if err != nil {
			t.Fatal(err)
		}
		s = decision.ApplyAll(s, events, now.Add(later))
	}
	if s.Answer.Installation != "ins_1" {
		t.Errorf("answered by %q", s.Answer.Installation)
	}
	if !s.Answer.Time.Equal(now) || !s.Answer.DeliverTime.Equal(now.Add(time.Minute)) {
		t.Errorf("recorded %v, delivered %v", s.Answer.Time, s.Answer.DeliverTime)
	}
}

// A refusal of a question without an action refuses the question.
func TestDenied_Question(t *testing.T) {
	t.Parallel()
	s, err := decision.Ask(decision.State{Kind: decision.Choose, Asked: asked, Items: []decision.Item{{ID: "i1", Question: "go on?", Options: []decision.Option{
		{ID: "yes", Kind: decision.Pick}, {ID: "no", Kind: decision.RejectOnce},
	}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[string][]decision.Digest{"no": {asked}, "yes": nil} {
		c := decision.GiveAnswer{Revision: 1, Asked: asked, Answer: decision.Answer{Items: []decision.AnswerItem{{Item: "i1", Options: []string{option}}}}}
		events, _, err := decision.Decide(s, c, now)
		if err != nil {
			t.Fatal(err)
		}
		after := decision.ApplyAll(s, events, now)
		if diff := cmp.Diff(want, after.Denied()); diff != "" || after.Grants != nil {
			t.Errorf("%s: grants %v, denied (-want +got):\n%s", option, after.Grants, diff)
		}
	}
	if s.Denied() != nil {
		t.Error("an open question is denied")
	}
}
