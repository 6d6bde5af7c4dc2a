package decision

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
)

// drawFacts shows an action as labels and values, whole: every top-level
// argument is a literal fact. What cannot be decoded is said to be so, never
// left out. The agent's prose has no part in it; names of arguments are the
// agent's too, so they stand behind "args." and cannot pass for the server's own
// labels.
func drawFacts(a Action, class Class) []Fact {
	facts := []Fact{{"App", a.App}, {"Operation", a.Operation}}
	if a.Connection != "" {
		facts = append(facts, Fact{"Connection", a.Connection})
	}
	if len(a.TargetJSON) > 0 {
		facts = append(facts, Fact{"Target", literal(a.TargetJSON)})
	}
	var args map[string]json.RawMessage
	if err := json.Unmarshal(a.ArgsJSON, &args); err != nil {
		facts = append(facts, Fact{"Arguments", "could not be inspected"})
	}
	names := make([]string, 0, len(args))
	for name := range args {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		facts = append(facts, Fact{"args." + name, literal(args[name])})
	}
	return append(facts, Fact{"Risk class", strconv.Itoa(int(class))})
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
