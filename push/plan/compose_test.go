package plan_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/push"
	"github.com/beckon-dev/beckon/push/plan"
)

func card() plan.Card {
	return plan.Card{
		Agent: "mailer", Thread: "Trial-end campaign", Question: "Send mail to 214 customers?",
		Facts: []plan.Fact{{"To", "trial users <214>"}, {"Subject", "Your trial & you"}}, Class: 2, Tappable: true,
	}
}

func input(level push.Level, change ...func(*plan.Input)) plan.Input {
	c := card()
	in := plan.Input{
		Row: push.Delivery{
			ID: "dlv_1", Kind: push.DecisionRequired, CollapseID: "c", ProviderID: "p", ExpiresAt: t0,
			Subject: push.Subject{Thread: "thr_1", Task: "tsk_1", Decision: "dec_1", Version: 2},
		},
		Address: push.Address{ID: "adr_1", AccountTag: "tag", Level: level},
		Card:    &c, Asked: "aa", AsOf: "s9",
		Badge:   push.Badge{Count: 3, Epoch: "e", Version: 7},
		OptedIn: true,
		Tap:     func(v push.Verb) string { return "token-" + string(v) },
	}
	for _, f := range change {
		f(&in)
	}
	return in
}

func TestCompose_DecisionTextPerLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[push.Level]push.Text{
		push.LevelIDs:   {Title: "A task needs your decision", Body: "3 to look at"},
		push.LevelTitle: {Title: "mailer needs a decision", Body: "Trial-end campaign\n3 to look at"},
		push.LevelFull: {
			Title: "mailer needs a decision",
			Body:  "Send mail to 214 customers?\nTo: trial users <214>\nSubject: Your trial & you\n3 to look at",
		},
		"a level of the future": {Title: "A task needs your decision", Body: "3 to look at"},
	} {
		if diff := cmp.Diff(want, plan.Compose(input(level)).Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", level, diff)
		}
	}
}

func TestCompose_ResultTextPerLevel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		level   push.Level
		outcome plan.Outcome
		want    push.Text
	}{
		{push.LevelIDs, plan.Failed, push.Text{Title: "A result is ready"}},
		{push.LevelTitle, plan.Completed, push.Text{Title: "Trial-end campaign is ready"}},
		{push.LevelTitle, plan.Failed, push.Text{Title: "Trial-end campaign failed"}},
		{push.LevelFull, plan.Completed, push.Text{Title: "mailer finished", Body: "exit status 3"}},
		{push.LevelFull, plan.CouldNotResume, push.Text{Title: "mailer could not resume", Body: "exit status 3"}},
	}
	for _, tt := range tests {
		m := plan.Compose(input(tt.level, func(in *plan.Input) {
			in.Row.Kind, in.Card, in.Badge.Count = push.ResultReady, nil, 1
			in.Result = &plan.Result{Agent: "mailer", Thread: "Trial-end campaign", Outcome: tt.outcome, Summary: "exit status 3"}
		}))
		if diff := cmp.Diff(tt.want, m.Text); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.level, tt.outcome, diff)
		}
		if m.Payload.Actions != nil || m.Payload.Asked != "" || !m.Payload.ExpiresAt.IsZero() {
			t.Errorf("a result has nothing to answer: %+v", m.Payload)
		}
	}
}

func TestCompose_NothingOfTheCardLeavesBelowItsLevel(t *testing.T) {
	t.Parallel()
	for level, canaries := range map[push.Level][]string{
		push.LevelIDs:   {"mailer", "Trial", "214", "customers", "Subject"},
		push.LevelTitle: {"214", "customers", "Subject"},
	} {
		m := plan.Compose(input(level))
		all := m.Text.Title + m.Text.Body + string(m.Payload.Encode())
		for _, c := range canaries {
			if strings.Contains(all, c) {
				t.Errorf("level %s carries %q", level, c)
			}
		}
	}
}

func TestCompose_CarriesIdentitiesAndBadge(t *testing.T) {
	t.Parallel()
	in := input(push.LevelFull)
	in.Deadline = t0
	m := plan.Compose(in)
	want := push.Payload{
		Kind: push.DecisionRequired, Account: "tag", Subject: in.Row.Subject,
		Asked: "aa", AsOf: "s9", Badge: in.Badge, ExpiresAt: t0,
		Actions: []push.Action{{Verb: push.Approve, Token: "token-approve"}, {Verb: push.Deny, Token: "token-deny"}},
	}
	if diff := cmp.Diff(want, m.Payload); diff != "" {
		t.Errorf("payload (-want +got):\n%s", diff)
	}
	if m.Delivery != "dlv_1" || m.ProviderID != "p" || m.CollapseID != "c" || !m.ExpiresAt.Equal(t0) {
		t.Errorf("identities: %+v", m)
	}
}

func TestMayApprove_EachConditionIsNeeded(t *testing.T) {
	t.Parallel()
	good := plan.Offer{Class: 2, Tappable: true, Level: push.LevelFull, OptedIn: true, Whole: true}
	if !plan.MayApprove(good) {
		t.Fatal("the good case is refused")
	}
	for name, breakIt := range map[string]func(*plan.Offer){
		"class 3":       func(o *plan.Offer) { o.Class = 3 },
		"class 4":       func(o *plan.Offer) { o.Class = 4 },
		"class unknown": func(o *plan.Offer) { o.Class = -1 },
		"must view":     func(o *plan.Offer) { o.MustView = true },
		"not tappable":  func(o *plan.Offer) { o.Tappable = false },
		"level title":   func(o *plan.Offer) { o.Level = push.LevelTitle },
		"level ids":     func(o *plan.Offer) { o.Level = push.LevelIDs },
		"not opted in":  func(o *plan.Offer) { o.OptedIn = false },
		"probation":     func(o *plan.Offer) { o.Probation = true },
		"cut":           func(o *plan.Offer) { o.Whole = false },
	} {
		o := good
		breakIt(&o)
		if plan.MayApprove(o) {
			t.Errorf("%s: offered", name)
		}
	}
}

func TestCompose_ApproveOnlyOnAWholePlainCard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		change        func(*plan.Input)
		approve, deny bool
	}{
		{"as it should be", func(*plan.Input) {}, true, true},
		{"class 3", func(in *plan.Input) { in.Card.Class = 3 }, false, true},
		{"not opted in", func(in *plan.Input) { in.OptedIn = false }, false, true},
		{"too long", func(in *plan.Input) { in.Card.Question = strings.Repeat("word ", 1000) }, false, true},
		{"too many facts", func(in *plan.Input) { in.Card.Facts = make([]plan.Fact, 2000) }, false, true},
		{"reversed text", func(in *plan.Input) { in.Card.Question = "pay \u202e001" }, false, true},
		{"hidden in a fact", func(in *plan.Input) { in.Card.Facts[0].Value = "a\u200bb" }, false, true},
		{"invalid bytes", func(in *plan.Input) { in.Card.Facts[0].Value = "a\xffb" }, false, true},
		{"pushed out of sight", func(in *plan.Input) { in.Card.Facts[0].Value = "a" + strings.Repeat(" ", 200) + "b" }, false, true},
		{"no fixed answer", func(in *plan.Input) { in.Card.Tappable = false }, false, false},
		{"no taps at all", func(in *plan.Input) { in.Tap = nil }, false, false},
		{"tokens leave no words", func(in *plan.Input) {
			in.Tap = func(push.Verb) string { return strings.Repeat("x", 3400) }
		}, false, false},
	}
	for _, tt := range tests {
		m := plan.Compose(input(push.LevelFull, tt.change))
		if m.Payload.HasAction(push.Approve) != tt.approve || m.Payload.HasAction(push.Deny) != tt.deny {
			t.Errorf("%s: %+v", tt.name, m.Payload.Actions)
		}
		if m.Text.Title == "" {
			t.Errorf("%s: no words left", tt.name)
		}
	}
}

func TestCompose_MintsAtMostOneTokenAVerbAndNoneForAForbiddenOne(t *testing.T) {
	t.Parallel()
	minted := map[push.Verb]int{}
	in := input(push.LevelFull)
	in.Tap = func(v push.Verb) string { minted[v]++; return "t" }
	plan.Compose(in)
	if diff := cmp.Diff(map[push.Verb]int{push.Approve: 1, push.Deny: 1}, minted); diff != "" {
		t.Errorf("minted (-want +got):\n%s", diff)
	}
	clear(minted)
	in.Card.Class = 4
	plan.Compose(in)
	if minted[push.Approve] != 0 {
		t.Error("a token exists that could approve class 4")
	}
}

func TestCompose_AValueCannotPretendToBeAFact(t *testing.T) {
	t.Parallel()
	m := plan.Compose(input(push.LevelFull, func(in *plan.Input) { in.Card.Question = "Delete?\nTarget: a test folder" }))
	if got, _, _ := strings.Cut(m.Text.Body, "\n"); got != "Delete? ⏎ Target: a test folder" {
		t.Errorf("first line %q", got)
	}
}

func TestCompose_EmojiStaysPlain(t *testing.T) {
	t.Parallel()
	m := plan.Compose(input(push.LevelFull, func(in *plan.Input) { in.Card.Question = "Ship it? ❤️ 👩‍👩‍👧 👍🏽" }))
	if !strings.Contains(m.Text.Body, "❤️ 👩‍👩‍👧 👍🏽") || !m.Payload.HasAction(push.Approve) {
		t.Errorf("%q %v", m.Text.Body, m.Payload.Actions)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		room int
		want string
	}{
		{"hello", 5, "hello"},
		{"hello!", 5, "he…"},
		{"👩‍👩‍👧👩‍👩‍👧", 21, "👩‍👩‍👧…"},
		{"👩‍👩‍👧👩‍👩‍👧", 20, "…"},
		{"e\u0301e\u0301e\u0301", 8, "e\u0301…"},
		{"\"\"\"\"", 7, "\"\"…"},
		{"日本語", 8, "日…"},
		{"<&>", 3, "<&>"},
		{"abc", 2, ""},
		{"a b c d e", 7, "a b…"},
	}
	for _, tt := range tests {
		if got := plan.Cut(tt.in, tt.room); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.in, tt.room, got, tt.want)
		}
	}
}

func FuzzCompose_FitsOnTheWire(f *testing.F) {
	f.Add("q", "label", "value", 1)
	f.Add(strings.Repeat("👩‍👩‍👧", 900), "<&>", strings.Repeat("<", 5000), 400)
	f.Add(strings.Repeat("\u0301", 4000), "日本", "\xff\x00\u2028", 3000)
	f.Add("", "", strings.Repeat("\"\\", 3000), 900)
	f.Fuzz(func(t *testing.T, question, label, value string, token int) {
		if token < 0 || token > 1200 {
			token = 1200
		}
		m := plan.Compose(input(push.LevelFull, func(in *plan.Input) {
			in.Card.Question, in.Card.Agent = question, label
			in.Card.Facts = []plan.Fact{{label, value}}
			in.Tap = func(push.Verb) string { return strings.Repeat("t", token) }
		}))
		text, err := json.Marshal(m.Text)
		if err != nil || !utf8.ValidString(m.Text.Title+m.Text.Body) {
			t.Fatalf("%v in %q", err, text)
		}
		used := len(push.EncodeJSON(m.Text.Title)) + len(push.EncodeJSON(m.Text.Body)) + len(m.Payload.Encode())
		if used > 4096-500 {
			t.Errorf("%d bytes leave no room for the vendor's frame", used)
		}
	})
}

func FuzzCut_MeasuresWhatIsEncoded(f *testing.F) {
	for _, s := range []string{"", "abc", "\"\\\n\r\t\b\f", "\x00\x1f\x7f", "\u2028\u2029", "\xff\xc0", "\ufffd", "<&>日👩‍👩‍👧"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		size := len(push.EncodeJSON(s)) - 2
		if got := plan.Cut(s, size); got != s {
			t.Errorf("%q fits %d bytes but was cut to %q", s, size, got)
		}
		for _, room := range []int{size - 1, size / 2, 3, 0} {
			if got := plan.Cut(s, room); room >= 0 && room < size && len(push.EncodeJSON(got))-2 > room {
				t.Errorf("%q cut to %q does not fit %d", s, got, room)
			}
		}
	})
}
