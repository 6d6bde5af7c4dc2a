package decision_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/beckon-dev/beckon/sync/decision"
)

// drawn is the fact that the server draws from one argument.
func drawn(t *testing.T, name, value string) decision.Fact {
	t.Helper()
	raw, err := json.Marshal(map[string]string{name: value})
	if err != nil {
		t.Fatal(err)
	}
	s, err := decision.Ask(decision.State{Kind: decision.ConfirmAction, Items: []decision.Item{{ID: "i", Action: &decision.Action{App: "mail", Operation: "send", ArgsJSON: raw}}}}, now)
	if err != nil {
		t.Fatal(err)
	}
	return s.Items[0].Facts[2]
}

// wuphf PR#684, os-clovy PR#672: what misleads the eye is made visible in facts.
func TestFacts_MadeVisible(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"user@example.com":        "",
		"Grüße, 你好, привет, שלום": "",
		"two\nlines\tand a tab":   "",
		"👩\u200d👧 ❤\ufe0f":        "",
		"a\u200db":                "a[U+200D]b",
		"invoice\u202efdp.exe":    "invoice[U+202E]fdp.exe",
		"ze\u200bro":              "ze[U+200B]ro",
		"soft\u00adhyphen":        "soft[U+00AD]hyphen",
		"\u2066isolated\u2069":    "[U+2066]isolated[U+2069]",
		"no\u00a0break":           "no[U+00A0]break",
		"bell\a":                  "bell[U+0007]",
		"tag\U000e0041":           "tag[U+E0041]",
		"p\u0430ypal.com":         "p[U+0430]ypal.com",
		"g\u03bf\u03bfgle":        "g[U+03BF][U+03BF]gle",
		"\uff41dmin":              "[U+FF41]dmin",
		"раураl":                  "[U+0440][U+0430][U+0443][U+0440][U+0430]l",
		"Москва and Paris, но не \u041caria": "Москва and Paris, но не [U+041C]aria",
	} {
		f := drawn(t, "to", value)
		marked := want != ""
		if !marked {
			want = value
		}
		if f.Value != want || f.Marked != marked {
			t.Errorf("%q is shown as %q, marked %v", value, f.Value, f.Marked)
		}
	}
	if f := drawn(t, "t\u043e", "x"); f.Label != "args.t[U+043E]" || !f.Marked {
		t.Errorf("a name is shown as %+v", f)
	}
}

// Whatever an argument holds, no fact has a character in it that nobody sees.
func FuzzFacts(f *testing.F) {
	f.Add("a\u202eb")
	f.Add("p\u0430ypal\x00")
	f.Fuzz(func(t *testing.T, value string) {
		if len(value) > 1<<12 {
			return
		}
		got := drawn(t, "v", value)
		for _, r := range got.Value {
			if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) && r != '\n' && r != '\t' {
				t.Fatalf("%q shows %U", value, r)
			}
		}
		if !got.Marked && strings.Contains(got.Value, "[U+") && !strings.Contains(value, "[U+") {
			t.Fatalf("%q is marked and not said to be", value)
		}
	})
}

func TestLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, " \n": false, "\u200b": false, "\u202e\u2066 \ufeff": false, "\u200bx": true, "?": true, "日": true, "👍": true, "\xff": false,
	} {
		if got := decision.Legible(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
