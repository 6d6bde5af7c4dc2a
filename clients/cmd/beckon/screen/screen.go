// Package screen makes text of strangers fit for a terminal and for the eyes
// of a person who decides by it. Escape sequences could move the cursor over
// what stands there already, and bidirectional controls could show words in an
// order in which nobody wrote them.
package screen

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostMarks is how many combining marks a letter may carry.
const mostMarks = 4

// Text shows several lines. What a terminal would act on and an eye would not
// see is replaced by a visible mark; new lines stay. It also tells how many
// characters were replaced.
func Text(s string) (shown string, hidden int) {
	var b strings.Builder
	marks, before := 0, rune(0)
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "‹x%02X›", s[0])
			s, hidden, before, marks = s[1:], hidden+1, 0, 0
			continue
		}
		s = s[size:]
		if unicode.Is(unicode.M, r) && !selector(r) {
			marks++
		} else {
			marks = 0
		}
		if mark, bad := marker(r, before); bad || marks > mostMarks {
			if mark == "" {
				mark = fmt.Sprintf("‹U+%04X›", r)
			}
			b.WriteString(mark)
			hidden++
		} else {
			b.WriteRune(r)
		}
		before = r
	}
	return b.String(), hidden
}

// Line shows one line: line ends become visible too.
func Line(s string) string {
	shown, _ := Text(s)
	return strings.NewReplacer("\n", "␤", "\t", " ").Replace(shown)
}

// marker gives what stands for a rune that must not be printed as it is.
func marker(r, before rune) (mark string, bad bool) {
	switch {
	case r == '\n' || r == '\t':
		return "", false
	case r < 0x20:
		return string('\u2400' + r), true
	case r == 0x7f:
		return "\u2421", true
	case selector(r):
		return "", before < 0x200 && !(before == '#' || before == '*' || before >= '0' && before <= '9')
	default:
		return "", invisible(r)
	}
}

// invisible lists what takes part in no word and shows as nothing, or as a
// space that is none: C1 controls, formatting and bidirectional controls, tags,
// private and unassigned ones, odd spaces and line ends.
func invisible(r rune) bool {
	switch {
	case r == ' ':
		return false
	case r == 0x200d || r == 0x200c:
		return true // joiners: in emoji harmless, in host names not
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x034f || r == 0x2800:
		return true // fillers
	default:
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zs, unicode.Zl, unicode.Zp) || !unicode.IsGraphic(r)
	}
}

func selector(r rune) bool { return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef }

// Output shows what a command printed. Its escape sequences are colour and
// cursor movement, so they are left out as a whole; what is left is as in Text.
func Output(data []byte) string {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	var b strings.Builder
	for len(text) > 0 {
		i := strings.IndexAny(text, "\x1b\r\b")
		if i < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		if text[i] == '\r' {
			b.WriteByte('\n') // a progress line that was written over
			text = text[i+1:]
			continue
		}
		if text[i] == '\b' {
			text = text[i+1:]
			continue
		}
		text = text[i+escapeLen(text[i:]):]
	}
	shown, _ := Text(b.String())
	return shown
}

// escapeLen is the length of the escape sequence that s starts with, ECMA-48.
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[': // CSI: parameters, then one final byte
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_': // strings, up to BEL or ST
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			}
		}
		return len(s)
	default:
		if s[1] < utf8.RuneSelf {
			return 2
		}
		return 1
	}
}
