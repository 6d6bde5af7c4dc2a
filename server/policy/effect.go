package policy

import "github.com/beckon-dev/beckon/sync/decision"

// Verdict is what a rule says about an action.
type Verdict uint8

// Verdicts.
const (
	// Allow: it may be done without asking.
	Allow Verdict = 1
	// Ask: it takes a grant.
	Ask Verdict = 2
)

// ByClass is the default of a class (R16), where no rule says otherwise. Class 1
// is allowed within a grant to the app; as there are no such grants yet, it is
// asked about like everything above it.
func ByClass(c decision.Class) Verdict {
	if c == decision.ReadPublic {
		return Allow
	}
	return Ask
}

// ClassOf is the class an action is judged by: the agent's word, or OUTWARD
// where it gave none.
func ClassOf(a decision.Action) decision.Class {
	if a.Class == nil {
		return decision.Outward
	}
	return *a.Class
}
