package plan

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/beckon-dev/beckon/sync/decision"
)

// maxBlanks is the longest run of spaces shown as it is; a longer one could
// push the rest of a line out of sight.
const maxBlanks = 16

// visible makes hidden characters readable as [U+202E] and the like, marks line
// breaks, and reports whether the text was plain already.
func visible(s string) (string, bool) {
	var b strings.Builder
	plain := true
	chip := func(format string, args ...any) {
		plain = false
		fmt.Fprintf(&b, format, args...)
	}
	var prev rune
	s = strings.ReplaceAll(strings.Trim(s, " \t\r\n"), "\r\n", "\n")
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			chip("[byte %02X]", s[i])
		case r == ' ':
			n = len(s[i:]) - len(strings.TrimLeft(s[i:], " "))
			if n > maxBlanks {
				chip("[%d spaces]", n)
			} else {
				b.WriteString(s[i : i+n])
			}
		case r == '\n':
			b.WriteString(" ⏎ ")
		case r == '\t':
			b.WriteString("  ")
		case decision.JoinsEmoji(prev, r):
			b.WriteRune(r)
		case decision.Hidden(r):
			chip("[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
		prev = r
		i += n
	}
	return b.String(), plain
}

// ellipsis ends a text that was cut.
const ellipsis = "…"

// Cut shortens s to at most room bytes of JSON encoding, between graphemes, so
// that no letter or emoji is torn, and marks the cut. A text that fits is
// returned as it is; where not even the mark fits the result is empty.
func Cut(s string, room int) string {
	if encodedLen(s) <= room {
		return s
	}
	room -= len(ellipsis)
	if room < 0 {
		return ""
	}
	end, used := 0, 0
	g := uniseg.NewGraphemes(s)
	for g.Next() {
		used += encodedLen(g.Str())
		if used > room {
			break
		}
		_, end = g.Positions()
	}
	return strings.TrimRight(s[:end], " \n") + ellipsis
}

// encodedLen is the size of s inside a JSON string as push.EncodeJSON writes
// it, counted instead of encoded because Cut asks for every grapheme.
func encodedLen(s string) int {
	size := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '"', r == '\\', r == '\b', r == '\f', r == '\n', r == '\r', r == '\t':
			size += 2
		case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError && n == 1:
			size += 6
		default:
			size += n
		}
		i += n
	}
	return size
}
