package decision_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

// editable is question with a way to edit either action.
func editable(join decision.Join) decision.State {
	class := decision.WriteReversible
	options := []decision.Option{
		{ID: "approve", Kind: decision.AllowOnce}, {ID: "edit", Kind: decision.Edit}, {ID: "deny", Kind: decision.RejectOnce},
		{ID: "ignore", Kind: decision.Ignore},
	}
	s, err := decision.Ask(decision.State{
		ID: "dec_1", Kind: decision.ConfirmAction, Asked: asked, ExpireTime: now.Add(time.Hour), Join: join,
		Items: []decision.Item{
			{ID: "i1", Options: options, Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte(`{"a":1}`), Class: &class, Digest: one}},
			{ID: "i2", Options: options, Action: &decision.Action{App: "files", Operation: "write", ArgsJSON: []byte(`{"b":1}`), Class: &class, Digest: two}},
		},
	}, now)
	if err != nil {
		panic(err)
	}
	return s
}

var edited = decision.Digest{33}

// edits is an answer that allows the first action with other arguments.
func edits(second string) decision.GiveAnswer {
	c := answer("edit", second)
	c.Answer.Items[0].EditedArgs, c.Answer.Items[0].Edited = []byte(`{"a":2}`), edited
	return c
}

// The grant is for what the person wrote, and the agent's digest stays beside it.
func TestEdit_GrantIsForTheEditedAction(t *testing.T) {
	t.Parallel()
	s := editable(decision.PerItem)
	events, o, err := decision.Decide(s, edits("deny"), now)
	if err != nil || o != decision.Applied {
		t.Fatal(o, err)
	}
	s = decision.ApplyAll(s, events, now)
	if len(s.Grants) != 1 || s.Grants[0].Digest != edited || s.Items[0].Action.Digest != one {
		t.Errorf("grants %+v for asked %v", s.Grants, s.Items[0].Action.Digest)
	}
	act, ok := s.Permitted("i1")
	if !ok || string(act.ArgsJSON) != `{"a":2}` || act.Digest != edited || act.App != "files" {
		t.Errorf("permitted %+v, %v", act, ok)
	}
	if _, ok := s.Permitted("i2"); ok {
		t.Error("a refused item permits something")
	}
	if !s.WasEdited() || !s.Allows(s.Answer.Items) || !s.Raises(s.Answer.Items) {
		t.Error("an edit is no permission")
	}
	// The same edit again is the same answer, another edit is not.
	for name, c := range map[string]struct {
		edited decision.Digest
		want   decision.Outcome
	}{"same": {edited, decision.Same}, "other": {decision.Digest{34}, decision.Conflict}} {
		again := edits("deny")
		again.Answer.Items[0].Edited = c.edited
		if _, o, err := decision.Decide(s, again, now); o != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
}

// Every part of an answer is there with the option that takes it, and with no
// other.
func TestEdit_PartsFit(t *testing.T) {
	t.Parallel()
	misfit := errors.New("amount is too large")
	for name, c := range map[string]struct {
		change func(*decision.GiveAnswer)
		want   string
	}{
		"fits":                     {func(*decision.GiveAnswer) {}, ""},
		"an edit without any":      {func(c *decision.GiveAnswer) { c.Answer.Items[0].EditedArgs = nil }, "decision: items[0].edited_args_json: MISSING"},
		"arguments with a yes":     {func(c *decision.GiveAnswer) { c.Answer.Items[0].Options = []string{"approve"} }, "decision: items[0].edited_args_json: NOT_ALLOWED"},
		"arguments with a no":      {func(c *decision.GiveAnswer) { c.Answer.Items[0].Options = []string{"deny"} }, "decision: items[0].edited_args_json: NOT_ALLOWED"},
		"content nobody asked for": {func(c *decision.GiveAnswer) { c.Answer.Items[0].Content = []byte("{}") }, "decision: items[0].content_json: NOT_ALLOWED"},
		"two options":              {func(c *decision.GiveAnswer) { c.Answer.Items[1].Options = []string{"deny", "ignore"} }, "decision: items[1].option_ids: ONE_OPTION"},
		"what the schema refuses":  {func(c *decision.GiveAnswer) { c.Misfit = misfit }, "amount is too large"},
	} {
		give := edits("deny")
		c.change(&give)
		events, o, err := decision.Decide(editable(decision.PerItem), give, now)
		if got := text(err); got != c.want || (err == nil) != (o == decision.Applied) || (err == nil) != (len(events) == 1) {
			t.Errorf("%s: %q, %v, %d events, want %q", name, got, o, len(events), c.want)
		}
	}
	// What is wrong with an answer matters only where it could have won.
	late := edits("deny")
	late.Misfit = misfit
	if _, o, err := decision.Decide(editable(decision.PerItem), late, now.Add(time.Hour)); o != decision.TooLate || err != nil {
		t.Errorf("late and wrong: %v, %v", o, err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Actions that belong together are allowed together or not at all.
func TestJoin_AllOrNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		join decision.Join
		give decision.GiveAnswer
		want string
	}{
		"each by itself":          {decision.PerItem, answer("approve", "deny"), ""},
		"all":                     {decision.AllItems, answer("approve", "approve"), ""},
		"all, one of them edited": {decision.AllItems, edits("approve"), ""},
		"none":                    {decision.AllItems, answer("deny", "ignore"), ""},
		"one":                     {decision.AllItems, answer("approve", "deny"), "decision: items[1].option_ids: ALL_OR_NONE"},
		"the other, edited":       {decision.AllItems, edits("ignore"), "decision: items[1].option_ids: ALL_OR_NONE"},
	} {
		if _, o, err := decision.Decide(editable(c.join), c.give, now); text(err) != c.want || (err == nil) != (o == decision.Applied) {
			t.Errorf("%s: %v, %v, want %q", name, o, err, c.want)
		}
	}
}

// dam#3335: to go on without an answer, or to dismiss a question, lets nothing happen and is no
// denial.
func TestDismissed_IsNoDenial(t *testing.T) {
	t.Parallel()
	s := editable(decision.PerItem)
	give := answer("ignore", "ignore")
	if s.Raises(give.Answer.Items) || s.Allows(give.Answer.Items) || s.Refuses(give.Answer.Items) {
		t.Error("ignoring is something else")
	}
	give.View = decision.Digest{9} // nothing has to be opened to let nothing happen
	events, o, err := decision.Decide(s, give, now)
	if err != nil || o != decision.Applied {
		t.Fatal(o, err)
	}
	s = decision.ApplyAll(s, events, now)
	if s.Grants != nil || s.Denied() != nil {
		t.Errorf("grants %v, denied %v", s.Grants, s.Denied())
	}
	if !s.Raises([]decision.AnswerItem{{Item: "i1", Options: []string{"what"}}}) || !s.Raises([]decision.AnswerItem{{Item: "i1"}}) {
		t.Error("an answer nobody understands lowers risk")
	}
}

// An item may take several plain choices; any other option stands alone.
func TestMulti(t *testing.T) {
	t.Parallel()
	s, err := decision.Ask(decision.State{Kind: decision.Choose, Asked: asked, Items: []decision.Item{{ID: "i1", Question: "which?", Min: 2, Max: 3, Options: []decision.Option{
		{ID: "a", Kind: decision.Pick}, {ID: "b", Kind: decision.Pick}, {ID: "c", Kind: decision.Pick}, {ID: "d", Kind: decision.Pick, Text: decision.TextRequired},
		{ID: "none", Kind: decision.Cancel},
	}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	for options, want := range map[string]string{
		"a b": "", "c a b": "", "none": "",
		"a":       "decision: items[0].option_ids: TOO_FEW",
		"a b c d": "decision: items[0].option_ids: TOO_MANY",
		"a a":     "decision: items[0].option_ids[1]: DUPLICATE",
		"a none":  "decision: items[0].option_ids: ONE_OPTION",
		"a d":     "decision: items[0].text: MISSING",
		"a z":     "decision: items[0].option_ids[1]: UNKNOWN_OPTION",
	} {
		give := decision.GiveAnswer{Revision: 1, Asked: asked, Answer: decision.Answer{Items: []decision.AnswerItem{{Item: "i1", Options: strings.Fields(options)}}}}
		if _, _, err := decision.Decide(s, give, now); text(err) != want {
			t.Errorf("%s: %v, want %q", options, err, want)
		}
	}
	// The order in which they were pressed is no part of the answer.
	if !decision.SameAnswer([]decision.AnswerItem{{Item: "i1", Options: []string{"b", "a"}}}, []decision.AnswerItem{{Item: "i1", Options: []string{"a", "b"}}}) {
		t.Error("another order is another answer")
	}
}

func TestAsk_NewKinds(t *testing.T) {
	t.Parallel()
	pick := decision.Option{ID: "p", Kind: decision.Pick}
	other := decision.Option{ID: "q", Kind: decision.Pick}
	schema := []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	ask := func(kind decision.Kind, items ...decision.Item) (decision.State, error) {
		return decision.Ask(decision.State{Kind: kind, Items: items}, now)
	}
	for name, c := range map[string]struct {
		kind decision.Kind
		item decision.Item
		want string
	}{
		"a form":                       {decision.Form, decision.Item{ID: "i", Question: "?", Schema: schema}, ""},
		"words nobody can see":         {decision.Text, decision.Item{ID: "i", Question: "\u200b \u2060"}, "items[0].question: INVISIBLE"},
		"a choice nobody can see":      {decision.Choose, decision.Item{ID: "i", Question: "?", Options: []decision.Option{pick, {ID: "q", Kind: decision.Pick, Label: "\u00ad"}}}, "items[0].options[1].label: INVISIBLE"},
		"a form without a field":       {decision.Form, decision.Item{ID: "i", Question: "?", Schema: []byte(`{"type":"object","title":"t","properties":{}}`)}, "items[0].response_schema_json: EMPTY_FORM"},
		"a form of any fields":         {decision.Form, decision.Item{ID: "i", Question: "?", Schema: []byte(`{"type":"object","patternProperties":{"^x":{}}}`)}, ""},
		"a form of nothing":            {decision.Form, decision.Item{ID: "i", Question: "?"}, "items[0].response_schema_json: MISSING"},
		"a form nobody can send":       {decision.Form, decision.Item{ID: "i", Question: "?", Schema: schema, Options: []decision.Option{{ID: "n", Kind: decision.RejectOnce}}}, "items[0].options: NEEDS_RESPOND_AND_REFUSE"},
		"a form nobody can refuse":     {decision.Form, decision.Item{ID: "i", Question: "?", Schema: schema, Options: []decision.Option{{ID: "y", Kind: decision.Respond}}}, "items[0].options: NEEDS_RESPOND_AND_REFUSE"},
		"a form with a choice":         {decision.Form, decision.Item{ID: "i", Question: "?", Schema: schema, Options: []decision.Option{pick}}, "items[0].options[0].kind: NOT_ALLOWED"},
		"a schema beside a choice":     {decision.Choose, decision.Item{ID: "i", Question: "?", Schema: schema, Options: []decision.Option{pick, other}}, "items[0].response_schema_json: NOT_ALLOWED"},
		"a page beside a choice":       {decision.Choose, decision.Item{ID: "i", Question: "?", URL: "https://a.example", Options: []decision.Option{pick, other}}, "items[0].url: NOT_ALLOWED"},
		"a page":                       {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://a.example/x?y=1#z"}, ""},
		"no page":                      {decision.OpenURL, decision.Item{ID: "i", Question: "?"}, "items[0].url: MISSING"},
		"plain http":                   {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "http://a.example"}, "items[0].url: NEEDS_HTTPS"},
		"a script":                     {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "javascript:alert(1)"}, "items[0].url: INVALID"},
		"no host":                      {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https:///x"}, "items[0].url: INVALID"},
		"a host behind a name":         {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://bank.example@evil.example"}, "items[0].url: NOT_ALLOWED"},
		"a host behind a backslash":    {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: `https://evil.example/\@bank.example`}, "items[0].url: INVALID"},
		"a host in look-alike letters": {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://b\u0430nk.example"}, "items[0].url: NOT_ASCII"},
		"two lines":                    {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://a.example\n/x"}, "items[0].url: NOT_ASCII"},
		"too long":                     {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://a.example/" + strings.Repeat("x", decision.MaxURL)}, "items[0].url: LIMIT"},
		"a page that allows":           {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://a.example", Options: []decision.Option{{ID: "y", Kind: decision.AllowOnce}}}, "items[0].options[0].kind: NOT_ALLOWED"},
		"a page nobody can leave":      {decision.OpenURL, decision.Item{ID: "i", Question: "?", URL: "https://a.example", Options: []decision.Option{pick}}, "items[0].options: NEEDS_REFUSE"},
		"an edit without an action":    {decision.Choose, decision.Item{ID: "i", Question: "?", Options: []decision.Option{pick, {ID: "e", Kind: decision.Edit}}}, "items[0].options[1].kind: NOT_ALLOWED"},
		"words before none are taken":  {decision.Choose, decision.Item{ID: "i", Question: "?", Options: []decision.Option{pick, {ID: "q", Kind: decision.Pick, Prefill: "so"}}}, "items[0].options[1].prefill: NOT_ALLOWED"},
		"several of one":               {decision.Choose, decision.Item{ID: "i", Question: "?", Min: 1, Max: 3, Options: []decision.Option{pick, other}}, "items[0].multi.max: LIMIT"},
		"more than there may be":       {decision.Choose, decision.Item{ID: "i", Question: "?", Min: 2, Max: 1, Options: []decision.Option{pick, other}}, "items[0].multi.min: LIMIT"},
		"several texts":                {decision.Text, decision.Item{ID: "i", Question: "?", Min: 1, Max: 1}, "items[0].multi: NOT_ALLOWED"},
	} {
		s, err := ask(c.kind, c.item)
		if got := strings.TrimPrefix(text(err), "decision: "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if err == nil && (len(s.Items[0].Options) < 2 || s.Class != decision.WriteReversible || s.Join != decision.PerItem) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	page := decision.Item{ID: "i", Question: "?", URL: "https://A.example:8443/x"}
	s, err := ask(decision.OpenURL, page)
	if err != nil {
		t.Fatal(err)
	}
	want := []decision.Fact{{Label: "Opens", Value: "a.example:8443"}, {Label: "Address", Value: "https://A.example:8443/x"}}
	if diff := cmp.Diff(want, s.Items[0].Facts); diff != "" {
		t.Error(diff)
	}
	if _, err := ask(decision.OpenURL, page, decision.Item{ID: "j", Question: "?", URL: page.URL}); text(err) != "decision: items: ONE_ITEM" {
		t.Error(err)
	}
}

// An identical question joins only where nothing that comes back to its asker
// would differ.
func TestSameCard(t *testing.T) {
	t.Parallel()
	base := editable(decision.PerItem)
	for name, change := range map[string]func(*decision.State){
		"asked":  func(s *decision.State) { s.Asked = edited },
		"class":  func(s *decision.State) { s.Class++ },
		"join":   func(s *decision.State) { s.Join = decision.AllItems },
		"schema": func(s *decision.State) { s.Items[0].Action.ArgsSchema = []byte("{}") },
		"min":    func(s *decision.State) { s.Items[1].Min = 1 },
		"max":    func(s *decision.State) { s.Items[1].Max = 1 },
		"more":   func(s *decision.State) { s.Items[1].Evidence = []decision.Evidence{{SHA256: one}} },
	} {
		other := editable(decision.PerItem)
		change(&other)
		if decision.SameCard(base, other) {
			t.Errorf("%s: the same card", name)
		}
	}
	base.Items[0].Evidence = []decision.Evidence{{SHA256: two}}
	if !decision.SameCard(base, editable(decision.PerItem)) {
		t.Error("not the same card as itself")
	}
}
