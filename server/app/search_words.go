package app

import (
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// words are what a search looks for, in the form in which text is compared:
// compatible forms made one (NFKC), and case folded. None is found everywhere.
type words []string

func wordsOf(query string) words { return strings.Fields(plainForm(query)) }

// snippetRunes bounds what is shown around a match.
const snippetRunes = 200

// in reports whether a text has all the words.
func (w words) in(text string) bool {
	if len(w) == 0 {
		return true
	}
	if len(text) == 0 {
		return false
	}
	text = plainForm(text)
	for _, word := range w {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// around is what stands around the first of the words.
func (w words) around(text string) string {
	if len(w) == 0 {
		return ""
	}
	at := strings.Index(plainForm(text), w[0])
	runes := []rune(text)
	// The form for comparison may be longer or shorter than the text, but never
	// shrinks with more of it.
	first := sort.Search(len(runes), func(n int) bool { return len(plainForm(string(runes[:n+1]))) > at })
	from := max(0, first-snippetRunes/3)
	to := min(len(runes), from+snippetRunes-2)
	out := strings.Join(strings.Fields(string(runes[from:to])), " ")
	if from > 0 {
		out = "…" + out
	}
	if to < len(runes) {
		out += "…"
	}
	return out
}

func plainForm(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Fold().String(norm.NFKC.String(s))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
