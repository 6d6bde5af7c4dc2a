package screen_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/screen"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, in, want string
		hidden         int
	}{
		{"plain", "Übung macht\tden Meister\n日本 👍🏽", "Übung macht\tden Meister\n日本 👍🏽", 0},
		{"escape", "a\x1b[2Jb", "a␛[2Jb", 1},
		{"return", "safe\rrm", "safe␍rm", 1},
		{"bell and delete", "\a\x7f", "␇␡", 2},
		{"C1", "a\u009b31mb", "a‹U+009B›31mb", 1},
		{"not UTF-8", "a\xffb", "a‹xFF›b", 1},
		{"bidi", "a\u202eb\u2066c\u200f", "a‹U+202E›b‹U+2066›c‹U+200F›", 3},
		{"zero width", "pay\u200bpal\ufeff", "pay‹U+200B›pal‹U+FEFF›", 2},
		{"tags", "a\U000e0041b", "a‹U+E0041›b", 1},
		{"odd space", "a\u00a0b\u2003c\u2028", "a‹U+00A0›b‹U+2003›c‹U+2028›", 3},
		{"selector after a letter", "a\ufe0f", "a‹U+FE0F›", 1},
		{"selector after an emoji", "❤\ufe0f", "❤\ufe0f", 0},
		{"keycap", "1\ufe0f", "1\ufe0f", 0},
		{"letters with a mark", "e\u0301\u0302", "e\u0301\u0302", 0},
		{"pile of marks", "e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + strings.Repeat("‹U+0301›", 2), 2},
		{"filler", "a\u3164b", "a‹U+3164›b", 1},
	} {
		got, hidden := screen.Text(test.in)
		if got != test.want || hidden != test.hidden {
			t.Errorf("%s: got %q and %d hidden, want %q and %d", test.name, got, hidden, test.want, test.hidden)
		}
	}
	if got := screen.Line("a\nb\tc"); got != "a␤b c" {
		t.Errorf("line: %q", got)
	}
}

func TestOutput(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, want string }{
		{"colour", "\x1b[1;31mred\x1b[0m\n", "red\n"},
		{"title by BEL", "a\x1b]0;owned\ab", "ab"},
		{"title by ST", "a\x1b]8;;https://x\x1b\\b", "ab"},
		{"open string ends with its line", "a\x1b]0;owned\nb", "a\nb"},
		{"open at the end", "a\x1b[12", "a"},
		{"two bytes", "a\x1bcb", "ab"},
		{"windows lines", "a\r\nb", "a\nb"},
		{"progress", "10%\r20%", "10%\n20%"},
		{"bytes", "\x00\xfe", "␀‹xFE›"},
		{"lone escape", "\x1b", ""},
	} {
		if got := screen.Output([]byte(test.in)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzScreen(f *testing.F) {
	for _, seed := range []string{"", "a\x1b[2J", "\x1b]0;\a", "\u202e", "\xff\x9b", "e\u0301\u0301\u0301\u0301\u0301"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		text, _ := screen.Text(string(in))
		for _, got := range []string{text, screen.Output(in)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q is not UTF-8", got)
			}
			for _, r := range got {
				if unicode.In(r, unicode.Cc, unicode.Cf) && r != '\n' && r != '\t' {
					t.Fatalf("%U is left in %q", r, got)
				}
			}
		}
		if again, hidden := screen.Text(text); again != text || hidden != 0 {
			t.Fatalf("shown text is not fit to show: %q, %q", text, again)
		}
	})
}
