package decision_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

func TestTapAnswer(t *testing.T) {
	t.Parallel()
	option := func(id string, kind decision.OptionKind, text decision.TextRule) decision.Option {
		return decision.Option{ID: id, Kind: kind, Text: text}
	}
	allow := option("y", decision.AllowOnce, decision.TextNone)
	reject := option("n", decision.RejectOnce, decision.TextOptional)
	pick := option("p", decision.Pick, decision.TextNone)
	card := func(options ...decision.Option) decision.State {
		return decision.State{Items: []decision.Item{{ID: "i", Options: options}}}
	}
	two := card(allow, reject)
	two.Items = append(two.Items, two.Items[0])
	everything := card(pick, reject)
	everything.Kind = decision.AfterRestore
	for _, test := range []struct {
		name string
		card decision.State
		verb decision.Verb
		want string // the option, empty if there is no one answer
	}{
		{"approve", card(allow, reject), decision.Approve, "y"},
		{"deny", card(allow, reject), decision.Deny, "n"},
		{"in any order", card(reject, allow), decision.Approve, "y"},
		{"a choice with a no", card(pick, reject), decision.Approve, "p"},
		{"no to a choice", card(pick, reject), decision.Deny, "n"},
		{"about all the work", everything, decision.Deny, ""},
		{"a verb nobody knows", card(allow, reject), "snooze", ""},
		{"no verb", card(allow, reject), "", ""},
		{"two questions", two, decision.Deny, ""},
		{"no question", decision.State{}, decision.Deny, ""},
		{"three options", card(allow, reject, pick), decision.Deny, ""},
		{"one option", card(reject), decision.Deny, ""},
		{"two ways to say yes", card(allow, pick), decision.Approve, ""},
		{"two ways to say no", card(reject, option("n2", decision.RejectOnce, 0)), decision.Deny, ""},
		{"yes wants words", card(option("y", decision.AllowOnce, decision.TextRequired), reject), decision.Deny, ""},
		{"no wants words", card(allow, option("n", decision.RejectOnce, decision.TextRequired)), decision.Deny, ""},
		{"words instead of yes", card(option("r", decision.Respond, decision.TextOptional), reject), decision.Deny, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, ok := decision.TapAnswer(test.card, test.verb)
			var want []decision.AnswerItem
			if test.want != "" {
				want = []decision.AnswerItem{{Item: "i", Options: []string{test.want}}}
			}
			if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
				t.Errorf("ok %v, answer (-want +got):\n%s", ok, diff)
			}
		})
	}
}
