package beckon_test

import (
	"errors"
	"slices"
	"testing"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// A program reads one verdict, and silence or dismissal is never a denial.
func TestReplyTo(t *testing.T) {
	t.Parallel()
	item := &v1.DecisionItem{Id: "it", Action: &v1.Action{ArgsJson: []byte(`{"n":1}`)}, Options: []*v1.Option{
		{Id: "yes", Kind: v1.OptionKind_OPTION_KIND_ALLOW_ONCE}, {Id: "edit", Kind: v1.OptionKind_OPTION_KIND_EDIT},
		{Id: "no", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE}, {Id: "skip", Kind: v1.OptionKind_OPTION_KIND_IGNORE},
		{Id: "away", Kind: v1.OptionKind_OPTION_KIND_CANCEL}, {Id: "pick", Kind: v1.OptionKind_OPTION_KIND_CHOOSE},
	}}
	answered := func(a *v1.AnswerItem) *v1.Decision {
		a.ItemId = "it"
		return &v1.Decision{
			State: v1.DecisionState_DECISION_STATE_RESOLVED, Items: []*v1.DecisionItem{item}, Answer: &v1.Answer{Items: []*v1.AnswerItem{a}},
			Grants: []*v1.Grant{{Id: "other", ItemId: "other"}, {Id: "grant", ItemId: "it"}},
		}
	}
	for name, c := range map[string]struct {
		d    *v1.Decision
		want beckon.Verdict
		args string
	}{
		"yes":       {answered(&v1.AnswerItem{OptionIds: []string{"yes"}}), beckon.Allowed, `{"n":1}`},
		"edited":    {answered(&v1.AnswerItem{OptionIds: []string{"edit"}, EditedArgsJson: []byte(`{"n":2}`)}), beckon.Allowed, `{"n":2}`},
		"no":        {answered(&v1.AnswerItem{OptionIds: []string{"no"}, Text: "why"}), beckon.Denied, ""},
		"ignored":   {answered(&v1.AnswerItem{OptionIds: []string{"skip"}}), beckon.Dismissed, ""},
		"canceled":  {answered(&v1.AnswerItem{OptionIds: []string{"away"}}), beckon.Dismissed, ""},
		"chosen":    {answered(&v1.AnswerItem{OptionIds: []string{"pick"}}), beckon.Answered, ""},
		"silence":   {&v1.Decision{State: v1.DecisionState_DECISION_STATE_EXPIRED}, beckon.Expired, ""},
		"open":      {&v1.Decision{State: v1.DecisionState_DECISION_STATE_PENDING}, beckon.Waiting, ""},
		"withdrawn": {&v1.Decision{State: v1.DecisionState_DECISION_STATE_WITHDRAWN}, beckon.Closed, ""},
	} {
		r := beckon.ReplyTo(c.d, "")
		if r.Verdict != c.want || string(r.Args) != c.args || (r.Grant.GetId() == "grant") != (c.want == beckon.Allowed) || r.Edited != (name == "edited") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	form := beckon.ReplyTo(answered(&v1.AnswerItem{OptionIds: []string{"pick"}, ContentJson: []byte(`{"city":"Oslo"}`)}), "it")
	var got struct{ City string }
	if err := form.Decode(&got); err != nil || got.City != "Oslo" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := (beckon.Reply{}).Decode(&got); !errors.Is(err, beckon.ErrNoContent) {
		t.Error(err)
	}
}

func TestAsk_Shapes(t *testing.T) {
	t.Parallel()
	action := beckon.AskAction("k", "Write?", &v1.Action{App: "files"}, true)
	var kinds []v1.OptionKind
	for _, o := range action.GetItems()[0].GetOptions() {
		kinds = append(kinds, o.GetKind())
	}
	if !slices.Contains(kinds, v1.OptionKind_OPTION_KIND_EDIT) || !slices.Contains(kinds, v1.OptionKind_OPTION_KIND_REJECT_ONCE) {
		t.Errorf("%v", kinds)
	}
	if plain := beckon.AskAction("k", "Write?", &v1.Action{}, false); plain.GetItems()[0].GetOptions() != nil {
		t.Error("the server's own options were replaced")
	}
	if f := beckon.AskForm("k", "Where?", []byte("{}")); f.GetKind() != v1.DecisionKind_DECISION_KIND_FORM || string(f.GetItems()[0].GetResponseSchemaJson()) != "{}" {
		t.Errorf("%v", f)
	}
	if u := beckon.AskURL("k", "Sign in", "https://a.example"); u.GetKind() != v1.DecisionKind_DECISION_KIND_OPEN_URL || u.GetItems()[0].GetUrl() == "" {
		t.Errorf("%v", u)
	}
	if c := beckon.AskChoice("k", "Which?", 1, 2, &v1.Option{}, &v1.Option{}); c.GetItems()[0].GetMulti().GetMax() != 2 || len(c.GetItems()[0].GetOptions()) != 2 {
		t.Errorf("%v", c)
	}
	if c := beckon.AskChoice("k", "Which?", 1, 1); c.GetItems()[0].GetMulti() != nil {
		t.Errorf("%v", c)
	}
}
