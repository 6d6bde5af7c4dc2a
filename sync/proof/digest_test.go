package proof_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/proof"
)

func must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func TestDigestText(t *testing.T) {
	t.Parallel()
	d := proof.Sum([]byte("x"))
	if got := must(proof.ParseDigest(d.String()))(t); got != d {
		t.Errorf("got %s, want %s", got, d)
	}
	raw := must(json.Marshal(map[string]proof.Digest{"d": d}))(t)
	var back map[string]proof.Digest
	if err := json.Unmarshal(raw, &back); err != nil || back["d"] != d || !back["d"].Equal(d) {
		t.Errorf("%s came back as %v, %v", raw, back, err)
	}
	if got := must(proof.DigestFromBytes(d[:]))(t); got != d {
		t.Errorf("got %s, want %s", got, d)
	}
	if d.IsZero() || !(proof.Digest{}).IsZero() || d.Equal(proof.Digest{}) {
		t.Error("zero and a sum are mixed up")
	}
	for _, bad := range []string{
		"", strings.ToUpper(d.String()), d.String()[1:], d.String() + "0", " " + d.String()[1:],
		strings.Repeat("g", 64), "0x" + d.String()[2:],
	} {
		if _, err := proof.ParseDigest(bad); !errors.Is(err, proof.ErrDigest) {
			t.Errorf("%q: got %v", bad, err)
		}
		if err := json.Unmarshal([]byte(`{"d":"`+bad+`"}`), &back); !errors.Is(err, proof.ErrDigest) {
			t.Errorf("%q in JSON: got %v", bad, err)
		}
	}
	if _, err := proof.DigestFromBytes(d[1:]); !errors.Is(err, proof.ErrDigest) {
		t.Errorf("short: got %v", err)
	}
}

func TestActionDigest(t *testing.T) {
	t.Parallel()
	digest := func(args, target string) proof.Digest {
		return must(proof.ActionDigest("mail", "work", "send", []byte(args), []byte(target)))(t)
	}
	base := digest(`{"to":"a","n":1}`, `{}`)
	if got := digest(" {\"n\":1.0,\n\"t\\u006f\":\"a\"} ", ` { } `); got != base {
		t.Error("another spelling has another digest")
	}
	// The document as the contract writes it, hashed without our code.
	want := proof.Sum([]byte(`{"app":"mail","args":{"n":1,"to":"a"},"connection":"work","operation":"send","target":{}}`))
	if base != want {
		t.Errorf("got %s, want %s", base, want)
	}
	if got := digest(`{"n":1}`, ``); got != proof.Sum([]byte(`{"app":"mail","args":{"n":1},"connection":"work","operation":"send","target":null}`)) {
		t.Error("an absent target is not null")
	}
	if digest(`{"n":1}`, ` null `) != digest(`{"n":1}`, ``) {
		t.Error("null and absent are two targets")
	}
	others := []proof.Digest{
		digest(`{"to":"a","n":1}`, `"to"`),
		digest(`{"to":"a","n":1}`, `[]`),
		digest(`{"to":"a","n":2}`, `{}`),
		digest(`{"to":"a","n":"1"}`, `{}`),
		digest(`{"to":"a","n":1}`, ``),
		digest(`{"to":"a","n":1}`, `{"to":"a"}`),
		digest(`{}`, `{"to":"a","n":1}`),
		must(proof.ActionDigest("work", "mail", "send", []byte(`{"to":"a","n":1}`), []byte(`{}`)))(t),
		must(proof.ActionDigest("mail", "", "send", []byte(`{"to":"a","n":1}`), []byte(`{}`)))(t),
		must(proof.ActionDigest("mail", "work", "<send>", []byte(`{"to":"a","n":1}`), []byte(`{}`)))(t),
	}
	all := append([]proof.Digest{base}, others...)
	slices.SortFunc(all, func(a, b proof.Digest) int { return strings.Compare(a.String(), b.String()) })
	if len(slices.Compact(all)) != len(others)+1 {
		t.Error("two different actions have one digest")
	}
}

func TestActionDigestRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, app, operation, args, target string
		field                              string
		reason                             proof.Reason
	}{
		{"args not an object", "a", "o", `[1]`, ``, "args", proof.ReasonNotObject},
		{"args null", "a", "o", `null`, ``, "args", proof.ReasonNotObject},
		{"target ambiguous", "a", "o", `{}`, `[{"a":1,"a":2}]`, "target", proof.ReasonDuplicateKey},
		{"target out of its document", "a", "o", `{}`, `1,"app":2`, "target", proof.ReasonTrailing},
		{"args ambiguous", "a", "o", `{"a":1,"a":2}`, ``, "args", proof.ReasonDuplicateKey},
		{"args out of their document", "a", "o", `{},"app":{}`, ``, "args", proof.ReasonTrailing},
		{"app not text", "\xff", "o", `{}`, ``, "app", proof.ReasonInvalidUTF8},
		{"operation not text", "a", "\ufffe", `{}`, ``, "operation", proof.ReasonNoncharacter},
		{"args white space", "a", "o", ` `, ``, "args", proof.ReasonSyntax},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := proof.ActionDigest(test.app, "c", test.operation, []byte(test.args), []byte(test.target))
			checkInput(t, err, test.field, test.reason)
		})
	}
}

func checkInput(t *testing.T, err error, field string, reason proof.Reason) {
	t.Helper()
	var input *proof.InputError
	if !errors.As(err, &input) {
		t.Fatalf("got %v, want an InputError", err)
	}
	type pair struct {
		Field  string
		Reason proof.Reason
	}
	if diff := cmp.Diff(pair{field, reason}, pair{input.Field, input.Reason}); diff != "" {
		t.Error(diff)
	}
}

// Args at the limit of depth and keys are as good inside an action as alone.
func TestActionDigestLimitsAreThoseOfArgs(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"keys":  keys(proof.MaxKeys),
		"depth": nest(`{"a":`, "1", "}", proof.MaxDepth),
	} {
		if _, err := proof.ActionDigest("a", "c", "o", []byte(args), []byte(args)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func askedItems() []proof.AskedItem {
	return []proof.AskedItem{
		{ItemID: "one", Action: proof.Sum([]byte("action")), Options: []proof.Option{
			{ID: "yes", Kind: "approve"}, {ID: "no", Kind: "deny"},
		}},
		{ItemID: "two", Question: "Which <colour>?", ResponseSchema: []byte(`{"type":"object"}`)},
	}
}

func TestAskedDigest(t *testing.T) {
	t.Parallel()
	got := must(proof.AskedDigest("approval", askedItems()))(t)
	want := proof.Sum([]byte(`{"items":[{"action_digest":"` + proof.Sum([]byte("action")).String() +
		`","item_id":"one","options":[{"id":"yes","kind":"approve"},{"id":"no","kind":"deny"}],"question":null,"response_schema":null},` +
		`{"action_digest":null,"item_id":"two","options":[],"question":"Which <colour>?","response_schema":{"type":"object"}}],"kind":"approval"}`))
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, change := range map[string]func([]proof.AskedItem){
		"item order":   func(i []proof.AskedItem) { slices.Reverse(i) },
		"option order": func(i []proof.AskedItem) { slices.Reverse(i[0].Options) },
		"option kind":  func(i []proof.AskedItem) { i[0].Options[1].Kind = "approve" },
		"option id":    func(i []proof.AskedItem) { i[0].Options[1].ID = "never" },
		"action":       func(i []proof.AskedItem) { i[0].Action[0] ^= 1 },
		"question":     func(i []proof.AskedItem) { i[1].Question += " " },
		"schema":       func(i []proof.AskedItem) { i[1].ResponseSchema = nil },
		"item id":      func(i []proof.AskedItem) { i[1].ItemID = "three" },
	} {
		items := askedItems()
		change(items)
		if other := must(proof.AskedDigest("approval", items))(t); other == got {
			t.Errorf("%s is not part of the digest", name)
		}
	}
	if other := must(proof.AskedDigest("question", askedItems()))(t); other == got {
		t.Error("kind is not part of the digest")
	}
}

func TestAskedDigestRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func([]proof.AskedItem)
		field  string
		reason proof.Reason
	}{
		{"no id", func(i []proof.AskedItem) { i[0].ItemID = "" }, "items[0].item_id", proof.ReasonMissing},
		{"item twice", func(i []proof.AskedItem) { i[1].ItemID = "one" }, "items[1].item_id", proof.ReasonRepeated},
		{"option twice", func(i []proof.AskedItem) { i[0].Options[1].ID = "yes" }, "items[0].options[1].id", proof.ReasonRepeated},
		{"option without kind", func(i []proof.AskedItem) { i[0].Options[0].Kind = "" }, "items[0].options[0].kind", proof.ReasonMissing},
		{"both", func(i []proof.AskedItem) { i[0].Question = "?" }, "items[0].question", proof.ReasonExclusive},
		{"neither", func(i []proof.AskedItem) { i[1].Question = "" }, "items[1].question", proof.ReasonMissing},
		{"question not text", func(i []proof.AskedItem) { i[1].Question = "\xff" }, "items[1].question", proof.ReasonInvalidUTF8},
		{"schema not an object", func(i []proof.AskedItem) { i[1].ResponseSchema = []byte(`true`) }, "items[1].response_schema", proof.ReasonNotObject},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			items := askedItems()
			test.change(items)
			_, err := proof.AskedDigest("approval", items)
			checkInput(t, err, test.field, test.reason)
		})
	}
	_, err := proof.AskedDigest("approval", nil)
	checkInput(t, err, "items", proof.ReasonMissing)
	_, err = proof.AskedDigest("", askedItems())
	checkInput(t, err, "kind", proof.ReasonMissing)
}

func TestObjectDigest(t *testing.T) {
	t.Parallel()
	if got := must(proof.ObjectDigest([]byte(`{"b":1, "a":2}`)))(t); got != proof.Sum([]byte(`{"a":2,"b":1}`)) {
		t.Errorf("got %s", got)
	}
	if _, err := proof.ObjectDigest([]byte(`[]`)); proof.ReasonOf(err) != proof.ReasonNotObject {
		t.Errorf("got %v", err)
	}
}

// A page to open is part of what is asked, as the last line of the question.
func TestAskedDigest_URL(t *testing.T) {
	t.Parallel()
	asked := func(item proof.AskedItem) (proof.Digest, error) {
		item.ItemID = "it"
		return proof.AskedDigest("OPEN_URL", []proof.AskedItem{item})
	}
	got, err := asked(proof.AskedItem{Question: "Sign in", URL: "https://a.example/x"})
	want, err2 := asked(proof.AskedItem{Question: "Sign in\nhttps://a.example/x"})
	other, err3 := asked(proof.AskedItem{Question: "Sign in", URL: "https://a.example/y"})
	if err := errors.Join(err, err2, err3); err != nil || got != want || got == other {
		t.Errorf("%v, %v, %v, %v", got, want, other, err)
	}
	for name, item := range map[string]proof.AskedItem{
		"EXCLUSIVE": {Action: want, URL: "https://a.example"}, "SYNTAX": {Question: "?", URL: "https://a.example\n/x"}, "MISSING": {URL: "https://a.example"},
	} {
		if _, err := asked(item); string(proof.ReasonOf(err)) != name {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

// Each reason has words for people, and all differ.
func TestReason_Sentence(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"": true}
	for _, r := range []proof.Reason{
		proof.ReasonSyntax, proof.ReasonTrailing, proof.ReasonNotObject, proof.ReasonDuplicateKey, proof.ReasonNumberRange, proof.ReasonNumberPrecision,
		proof.ReasonLoneSurrogate, proof.ReasonInvalidUTF8, proof.ReasonNoncharacter, proof.ReasonTooDeep, proof.ReasonTooManyKeys,
		proof.ReasonMissing, proof.ReasonRepeated, proof.ReasonExclusive,
	} {
		if seen[r.Sentence()] {
			t.Errorf("%s: %q", r, r.Sentence())
		}
		seen[r.Sentence()] = true
	}
}
