package decision

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// visible makes characters that nobody can see, and letters that look like
// those of another script, readable as [U+202E] and the like. Line breaks and
// tabs stay. It reports whether anything had to be made visible.
func visible(s string) (string, bool) {
	var b strings.Builder
	marked := false
	chip := func(format string, args ...any) {
		marked = true
		fmt.Fprintf(&b, format, args...)
	}
	mixed := mixedLetters(s)
	var prev rune
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			chip("[byte %02X]", s[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(s[i:], "\r\n"):
		case JoinsEmoji(prev, r):
			b.WriteRune(r)
		case Hidden(r), mixed[i]:
			chip("[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
		prev = r
		i += n
	}
	return b.String(), marked
}

const (
	zeroWidthJoiner = '\u200d'
	emojiSelector   = '\ufe0f'
)

// JoinsEmoji reports whether r is a joiner or selector that belongs to the emoji
// before it, where it is not hidden but part of what is seen.
func JoinsEmoji(prev, r rune) bool {
	if r != zeroWidthJoiner && r != emojiSelector {
		return false
	}
	return prev == emojiSelector || unicode.Is(unicode.So, prev) || prev >= 0x1f3fb && prev <= 0x1f3ff
}

// Legible reports whether a text has anything in it that a person can see.
func Legible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r != utf8.RuneError && !Hidden(r) && !unicode.IsSpace(r) && !unicode.IsMark(r)
	})
}

// Hidden covers control, format (bidi, zero-width, tags), odd spaces, private
// and variation characters: what a reader cannot see or cannot tell apart.
func Hidden(r rune) bool {
	switch {
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Zs):
		return r != ' '
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
		return true
	default:
		return r == '\u2800' // the blank Braille pattern
	}
}

// mixedLetters finds the letters that a reader takes for Latin ones: those of a
// script that looks like it, in a word that also has Latin letters. Words of one
// script are left alone.
func mixedLetters(s string) map[int]bool {
	var out map[int]bool
	var latin bool
	var others []int
	end := func() {
		if latin {
			for _, i := range others {
				if out == nil {
					out = map[int]bool{}
				}
				out[i] = true
			}
		}
		latin, others = false, nil
	}
	for i, r := range s {
		switch {
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu):
			others = append(others, i)
		case unicode.Is(unicode.Latin, r):
			if r >= 0xff00 { // full-width forms of ASCII
				others = append(others, i)
			} else {
				latin = true
			}
		case unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || Hidden(r) && r != '\n' && r != '\t':
		default:
			end()
		}
	}
	end()
	return out
}
