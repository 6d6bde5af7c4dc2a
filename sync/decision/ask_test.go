package decision_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

func action(c *decision.Class) *decision.Action {
	return &decision.Action{App: "mail", Operation: "send", ArgsJSON: []byte("{}"), Class: c}
}

// claude-code#52760, opencompany#372: nothing to look at. An approval without an
// action, or of one without arguments, is refused when it is asked for.
func TestAsk_Refuses(t *testing.T) {
	t.Parallel()
	confirm := func(items ...decision.Item) decision.State {
		return decision.State{Kind: decision.ConfirmAction, Items: items}
	}
	chooses := func(options ...decision.Option) decision.State {
		return decision.State{Kind: decision.Choose, Items: []decision.Item{{ID: "i", Question: "which?", Options: options}}}
	}
	yes := decision.Option{ID: "y", Kind: decision.AllowOnce}
	no := decision.Option{ID: "n", Kind: decision.RejectOnce}
	pick := decision.Option{ID: "p", Kind: decision.Pick}
	many := make([]decision.Option, decision.MaxOptions+1)
	low := decision.Item{ID: "i", Action: action(new(decision.WriteReversible))}
	late := confirm(low)
	late.ExpireTime = now.Add(decision.MaxExpiry + 1)
	for _, test := range []struct {
		name  string
		state decision.State
		want  decision.InvalidError
	}{
		{"nothing", confirm(), decision.InvalidError{Field: "items", Reason: "LIMIT"}},
		{"too much", confirm(make([]decision.Item, decision.MaxItems+1)...), decision.InvalidError{Field: "items", Reason: "LIMIT"}},
		{"for too long", late, decision.InvalidError{Field: "timeout", Reason: "LIMIT"}},
		{"the same item twice", confirm(low, low), decision.InvalidError{Field: "items[1].id", Reason: "DUPLICATE"}},
		{"approval of nothing", confirm(decision.Item{ID: "i", Question: "may I?"}), decision.InvalidError{Field: "items[0].action", Reason: "MISSING"}},
		{"an action of which no arguments can be shown", confirm(decision.Item{ID: "i", Action: &decision.Action{App: "mail", Operation: "send"}}), decision.InvalidError{Field: "items[0].action.args_json", Reason: "MISSING"}},
		{"an action beside a choice", decision.State{Kind: decision.Choose, Items: []decision.Item{low}}, decision.InvalidError{Field: "items[0].action", Reason: "NOT_ALLOWED"}},
		{"no question", decision.State{Kind: decision.Text, Items: []decision.Item{{ID: "i"}}}, decision.InvalidError{Field: "items[0].question", Reason: "MISSING"}},
		{"two items, one of class 3", confirm(low, decision.Item{ID: "j", Action: action(new(decision.Outward))}), decision.InvalidError{Field: "items", Reason: "ONE_ITEM_FROM_CLASS_3"}},
		{"two items, one without a class", confirm(low, decision.Item{ID: "j", Action: action(nil)}), decision.InvalidError{Field: "items", Reason: "ONE_ITEM_FROM_CLASS_3"}},
		{"too many options", chooses(many...), decision.InvalidError{Field: "items[0].options", Reason: "LIMIT"}},
		{"a choice without choice", chooses(pick), decision.InvalidError{Field: "items[0].options", Reason: "TOO_FEW"}},
		{"the same option twice", chooses(pick, pick), decision.InvalidError{Field: "items[0].options[1].id", Reason: "DUPLICATE"}},
		{"a choice that allows", chooses(pick, yes), decision.InvalidError{Field: "items[0].options[1].kind", Reason: "NOT_ALLOWED"}},
		{"no way to refuse", confirm(decision.Item{ID: "i", Action: action(nil), Options: []decision.Option{yes, pick}}), decision.InvalidError{Field: "items[0].options", Reason: "NEEDS_ALLOW_AND_REJECT"}},
		{"no way to allow", confirm(decision.Item{ID: "i", Action: action(nil), Options: []decision.Option{no}}), decision.InvalidError{Field: "items[0].options", Reason: "NEEDS_ALLOW_AND_REJECT"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decision.Ask(test.state, now)
			var got *decision.InvalidError
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAsk_Completes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		state       decision.State
		wantClass   decision.Class
		wantOptions []decision.Option
	}{
		{
			"an approval", decision.State{Kind: decision.ConfirmAction, Items: []decision.Item{{ID: "i", Action: action(new(decision.Irreversible))}}},
			decision.Irreversible, []decision.Option{
				{ID: "approve", Label: "Approve", Kind: decision.AllowOnce, Text: decision.TextNone},
				{ID: "deny", Label: "Deny", Kind: decision.RejectOnce, Text: decision.TextOptional},
			},
		},
		{
			"the worst of several", decision.State{Kind: decision.ConfirmAction, Items: []decision.Item{
				{ID: "i", Action: action(new(decision.WriteReversible)), Options: []decision.Option{{ID: "n", Kind: decision.RejectOnce}, {ID: "y", Kind: decision.AllowOnce}}},
				{ID: "j", Action: action(new(decision.ReadPublic))},
			}},
			decision.WriteReversible, []decision.Option{
				{ID: "n", Kind: decision.RejectOnce, Text: decision.TextNone}, {ID: "y", Kind: decision.AllowOnce, Text: decision.TextNone},
			},
		},
		{
			"an action without a class", decision.State{Kind: decision.ConfirmAction, Items: []decision.Item{{ID: "i", Action: action(nil), Options: []decision.Option{
				{ID: "y", Kind: decision.AllowOnce}, {ID: "n", Kind: decision.RejectOnce, Text: decision.TextRequired},
			}}}},
			decision.Outward, []decision.Option{
				{ID: "y", Kind: decision.AllowOnce, Text: decision.TextNone}, {ID: "n", Kind: decision.RejectOnce, Text: decision.TextRequired},
			},
		},
		{
			"a question for words", decision.State{Kind: decision.Text, Items: []decision.Item{{ID: "i", Question: "why?"}}},
			decision.WriteReversible, []decision.Option{{ID: "answer", Label: "Answer", Kind: decision.Respond, Text: decision.TextRequired}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := decision.Ask(test.state, now)
			if err != nil {
				t.Fatal(err)
			}
			if s.Status != decision.Pending || s.Revision != 1 || s.OnExpiry != decision.TellAgent || !s.CreateTime.Equal(now) || s.Class != test.wantClass {
				t.Errorf("status %s revision %d on expiry %d created %v class %d", s.Status, s.Revision, s.OnExpiry, s.CreateTime, s.Class)
			}
			if diff := cmp.Diff(test.wantOptions, s.Items[0].Options); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

// The caller keeps what it asked with, to compare a repeated request with it.
func TestAsk_LeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	in := func() decision.State {
		return decision.State{Kind: decision.Choose, Items: []decision.Item{{ID: "i", Question: "which?", Options: []decision.Option{
			{ID: "a", Kind: decision.Pick}, {ID: "b", Kind: decision.Pick},
		}}}}
	}
	given := in()
	if _, err := decision.Ask(given, now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in(), given); diff != "" {
		t.Errorf("argument (-before +after):\n%s", diff)
	}
}

func TestState_Open(t *testing.T) {
	t.Parallel()
	s := question()
	if !s.Open(now) || s.Open(s.ExpireTime) || !s.Open(s.ExpireTime.Add(-1)) {
		t.Error("the deadline is not where it is")
	}
	s.ExpireTime = time.Time{}
	if !s.Open(now.Add(1000 * time.Hour)) {
		t.Error("a question without a deadline ends by itself")
	}
	if at(decision.Resolved).Open(now) {
		t.Error("a resolved question is open")
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		action decision.Action
		want   []decision.Fact
	}{
		{
			"every argument, literal and in order",
			decision.Action{App: "mail", Connection: "work", Operation: "send", TargetJSON: []byte(`"bob@example.org"`), Class: new(decision.Class(3)), ArgsJSON: []byte(
				`{"to":["a", "b"],"body":"line\nbreak","count":2,"big":9007199254740991,"ok":true,"none":null,"empty":"","deep":{"x": 1}}`)},
			[]decision.Fact{
				{Label: "App", Value: "mail"}, {Label: "Operation", Value: "send"}, {Label: "Connection", Value: "work"}, {Label: "Target", Value: "bob@example.org"},
				{Label: "args.big", Value: "9007199254740991"}, {Label: "args.body", Value: "line\nbreak"}, {Label: "args.count", Value: "2"}, {Label: "args.deep", Value: `{"x":1}`},
				{Label: "args.empty", Value: ""}, {Label: "args.none", Value: "null"}, {Label: "args.ok", Value: "true"}, {Label: "args.to", Value: `["a","b"]`},
				{Label: "Risk class", Value: "3"},
			},
		},
		{
			"no class is class 3, no arguments are none", decision.Action{App: "mail", Operation: "send", ArgsJSON: []byte("{}")},
			[]decision.Fact{{Label: "App", Value: "mail"}, {Label: "Operation", Value: "send"}, {Label: "Risk class", Value: "3"}},
		},
		{
			"arguments that are no object are said to be there", decision.Action{App: "mail", Operation: "send", Class: new(decision.Class(2)), ArgsJSON: []byte(`[1,2]`)},
			[]decision.Fact{{Label: "App", Value: "mail"}, {Label: "Operation", Value: "send"}, {Label: "Arguments", Value: "could not be inspected"}, {Label: "Risk class", Value: "2"}},
		},
		{
			"nor are broken ones left out", decision.Action{App: "mail", Operation: "send", Class: new(decision.Class(2)), ArgsJSON: []byte(`{"a":`), TargetJSON: []byte(`{"b"`)},
			[]decision.Fact{
				{Label: "App", Value: "mail"}, {Label: "Operation", Value: "send"}, {Label: "Target", Value: "could not be inspected"},
				{Label: "Arguments", Value: "could not be inspected"}, {Label: "Risk class", Value: "2"},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := decision.Ask(decision.State{Kind: decision.ConfirmAction, Title: "prose", Reason: "prose", Items: []decision.Item{{ID: "i", Action: &test.action}}}, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, s.Items[0].Facts); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}
