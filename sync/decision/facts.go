package decision

import (
	"bytes"
	"encoding/json"
	"net/url"
	"sort"
	"strconv"
	"strings"
)

// drawFacts shows an action as labels and values, whole: every top-level
// argument is a literal fact. What cannot be decoded is said to be so, never
// left out. The agent's prose has no part in it; names of arguments are the
// agent's too, so they stand behind "args." and cannot pass for the server's own
// labels.
func drawFacts(a Action, class Class) []Fact {
	facts := []Fact{fact("App", a.App), fact("Operation", a.Operation)}
	if a.Connection != "" {
		facts = append(facts, fact("Connection", a.Connection))
	}
	if len(a.TargetJSON) > 0 {
		facts = append(facts, fact("Target", literal(a.TargetJSON)))
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(a.ArgsJSON, &args); err != nil {
		facts = append(facts, fact("Arguments", "could not be inspected"))
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		facts = append(facts, fact("args."+name, literal(args[name])))
	}
	return append(facts, fact("Risk class", strconv.Itoa(int(class))))
}

// fact is one line, with what nobody could see in it made visible.
func fact(label, value string) Fact {
	l, hiddenInLabel := visible(label)
	v, hidden := visible(value)
	return Fact{Label: l, Value: v, Marked: hidden || hiddenInLabel}
}

// MaxURL is how long the address of a page may be, in bytes.
const MaxURL = 2048

// urlFacts shows a page to open by its host, which is what tells whose it is.
// Only https is opened, without a name or password in it, and the host is
// spelled in ASCII, so that no letter in it can pass for another.
func urlFacts(raw string, i int) ([]Fact, error) {
	if raw == "" {
		return nil, invalid("MISSING", "items[%d].url", i)
	}
	if len(raw) > MaxURL {
		return nil, invalid("LIMIT", "items[%d].url", i)
	}
	for _, r := range raw {
		if r <= ' ' || r > '~' {
			return nil, invalid("NOT_ASCII", "items[%d].url", i)
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return nil, invalid("INVALID", "items[%d].url", i)
	case u.Scheme != "https":
		return nil, invalid("NEEDS_HTTPS", "items[%d].url", i)
	case u.User != nil:
		return nil, invalid("NOT_ALLOWED", "items[%d].url", i)
	case strings.Contains(raw, "\\") || strings.Contains(u.Host, "%"):
		return nil, invalid("INVALID", "items[%d].url", i)
	}
	return []Fact{fact("Opens", strings.ToLower(u.Host)), fact("Address", raw)}, nil
}

// literal is a string's text, or the JSON of anything else.
func literal(raw []byte) string {
	// A null decodes into a string as well, and would be shown as an empty one.
	var s *string
	if json.Unmarshal(raw, &s) == nil && s != nil {
		return *s
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) == nil {
		return compact.String()
	}
	return "could not be inspected"
}
