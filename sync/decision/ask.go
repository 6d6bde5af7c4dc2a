package decision

import (
	"fmt"
	"slices"
	"time"
)

// Limits of one question.
const (
	MaxItems   = 16
	MaxOptions = 8
	MaxExpiry  = 30 * 24 * time.Hour
)

// InvalidError: a question or an answer that cannot be. Field is the path in
// proto names.
type InvalidError struct {
	Field  string
	Reason string
}

// Error implements error.
func (e *InvalidError) Error() string { return fmt.Sprintf("decision: %s: %s", e.Field, e.Reason) }

// reasonInvisible: words of which a person sees nothing.
const reasonInvisible = "INVISIBLE"

func invalid(reason, format string, args ...any) error {
	return &InvalidError{Field: fmt.Sprintf(format, args...), Reason: reason}
}

// Calls says when a person is called again about a question.
type Calls struct {
	// After are times since the question; empty for the usual ones.
	After []time.Duration
	// Off: never.
	Off bool
}

// Ask completes and judges a new question with the usual reminders: see
// [AskWith].
func Ask(s State, now time.Time) (State, error) { return AskWith(s, Calls{}, now) }

// AskWith completes and judges a new question: default options, class, facts,
// reminders. The digests are the caller's.
func AskWith(s State, calls Calls, now time.Time) (State, error) {
	if s.Kind.OfServer() {
		return s, invalid("NOT_ALLOWED", "kind")
	}
	if len(s.Items) == 0 || len(s.Items) > MaxItems {
		return s, invalid("LIMIT", "items")
	}
	if !s.ExpireTime.IsZero() && s.ExpireTime.Sub(now) > MaxExpiry {
		return s, invalid("LIMIT", "timeout")
	}
	if s.OnExpiry == 0 {
		s.OnExpiry = TellAgent
	}
	if s.Join == 0 {
		s.Join = PerItem
	}
	if s.Kind == OpenURL && len(s.Items) > 1 {
		return s, invalid("ONE_ITEM", "items")
	}
	seen := map[string]bool{}
	s.Class = 0
	items := make([]Item, len(s.Items))
	for i, it := range s.Items {
		if seen[it.ID] {
			return s, invalid("DUPLICATE", "items[%d].id", i)
		}
		seen[it.ID] = true
		done, class, err := askItem(s.Kind, it, i)
		if err != nil {
			return s, err
		}
		items[i] = done
		s.Class = max(s.Class, class)
	}
	if s.Class >= Outward && len(items) > 1 {
		return s, invalid("ONE_ITEM_FROM_CLASS_3", "items")
	}
	s.Items = items
	var err error
	if s, err = honour(s, now); err != nil {
		return s, err
	}
	if s.Reminders, err = remindersOf(s, calls.After, calls.Off, now); err != nil {
		return s, err
	}
	s.Status, s.Revision, s.CreateTime = Pending, 1, now
	return s, nil
}

func askItem(kind Kind, it Item, i int) (Item, Class, error) {
	class := WriteReversible // a question without an action
	switch {
	case kind == ConfirmAction && it.Action == nil:
		return it, 0, invalid("MISSING", "items[%d].action", i)
	case kind != ConfirmAction && it.Action != nil:
		return it, 0, invalid("NOT_ALLOWED", "items[%d].action", i)
	case it.Action == nil && it.Question == "":
		return it, 0, invalid("MISSING", "items[%d].question", i)
	case it.Question != "" && !Legible(it.Question):
		return it, 0, invalid(reasonInvisible, "items[%d].question", i)
	case kind == Form && asksNothing(it.Schema):
		return it, 0, invalid("EMPTY_FORM", "items[%d].response_schema_json", i)
	case kind == Form && len(it.Schema) == 0:
		return it, 0, invalid("MISSING", "items[%d].response_schema_json", i)
	case kind != Form && len(it.Schema) > 0:
		return it, 0, invalid("NOT_ALLOWED", "items[%d].response_schema_json", i)
	case kind != OpenURL && it.URL != "":
		return it, 0, invalid("NOT_ALLOWED", "items[%d].url", i)
	case it.Action != nil && len(it.Action.ArgsJSON) == 0:
		// A person who is shown no arguments has nothing to decide about.
		return it, 0, invalid("MISSING", "items[%d].action.args_json", i)
	case it.Action != nil:
		class = Outward // no class given
		if it.Action.Class != nil {
			class = *it.Action.Class
		}
		it.Facts = drawFacts(*it.Action, class)
	}
	if kind == OpenURL {
		var err error
		if it.Facts, err = urlFacts(it.URL, i); err != nil {
			return it, 0, err
		}
	}
	if len(it.Options) == 0 {
		it.Options = defaultOptions(kind)
	}
	it.Options = slices.Clone(it.Options) // the caller's stay as they were asked
	if err := askOptions(kind, it.Options, i); err != nil {
		return it, class, err
	}
	if err := askEvidence(it, i); err != nil {
		return it, class, err
	}
	return it, class, askMulti(kind, it, i)
}

// askMulti judges how many options may be chosen.
func askMulti(kind Kind, it Item, i int) error {
	if it.Min == 0 && it.Max == 0 {
		return nil
	}
	picks := 0
	for _, o := range it.Options {
		if o.Kind == Pick {
			picks++
		}
	}
	switch {
	case kind != Choose:
		return invalid("NOT_ALLOWED", "items[%d].multi", i)
	case it.Min < 1 || it.Min > it.Max:
		return invalid("LIMIT", "items[%d].multi.min", i)
	case int(it.Max) > picks:
		return invalid("LIMIT", "items[%d].multi.max", i)
	}
	return nil
}

func defaultOptions(kind Kind) []Option {
	switch kind {
	case ConfirmAction:
		return []Option{
			{ID: "approve", Label: "Approve", Kind: AllowOnce, Text: TextNone},
			{ID: "deny", Label: "Deny", Kind: RejectOnce, Text: TextOptional},
		}
	case Text:
		return []Option{{ID: "answer", Label: "Answer", Kind: Respond, Text: TextRequired}}
	case Form:
		return []Option{
			{ID: "submit", Label: "Send", Kind: Respond, Text: TextNone},
			{ID: "decline", Label: "Decline", Kind: RejectOnce, Text: TextOptional},
		}
	case OpenURL:
		return []Option{
			{ID: "done", Label: "Done", Kind: Pick, Text: TextNone},
			{ID: "cancel", Label: "Cancel", Kind: Cancel, Text: TextNone},
		}
	default:
		return nil
	}
}

func askOptions(kind Kind, options []Option, i int) error {
	if len(options) > MaxOptions {
		return invalid("LIMIT", "items[%d].options", i)
	}
	if kind == Choose && len(options) < 2 {
		return invalid("TOO_FEW", "items[%d].options", i)
	}
	seen := map[string]bool{}
	var allow, reject, respond, lower bool
	for j := range options {
		o := &options[j]
		if seen[o.ID] {
			return invalid("DUPLICATE", "items[%d].options[%d].id", i, j)
		}
		seen[o.ID] = true
		if o.Label != "" && !Legible(o.Label) {
			return invalid(reasonInvisible, "items[%d].options[%d].label", i, j)
		}
		if o.Text == 0 {
			o.Text = TextNone
		}
		allow = allow || o.Kind == AllowOnce
		reject = reject || o.Kind == RejectOnce
		respond = respond || o.Kind == Respond
		lower = lower || o.Kind.Lowers()
		if !fitting(kind, o.Kind) {
			return invalid("NOT_ALLOWED", "items[%d].options[%d].kind", i, j)
		}
		if o.Prefill != "" && o.Text == TextNone {
			return invalid("NOT_ALLOWED", "items[%d].options[%d].prefill", i, j)
		}
	}
	if kind == Form && (!respond || !lower) {
		return invalid("NEEDS_RESPOND_AND_REFUSE", "items[%d].options", i)
	}
	if kind == OpenURL && !lower {
		return invalid("NEEDS_REFUSE", "items[%d].options", i)
	}
	// A person must always be able to refuse an action.
	if kind == ConfirmAction && (!allow || !reject) {
		return invalid("NEEDS_ALLOW_AND_REJECT", "items[%d].options", i)
	}
	return nil
}

// fitting reports whether an option of this kind makes sense in a question of
// that kind: only an action can be allowed, only a form or text be answered in
// the person's own words, and a page never carries more than done or not.
func fitting(k Kind, o OptionKind) bool {
	switch o {
	case AllowOnce, Edit:
		return k == ConfirmAction
	case Pick:
		return k != Form
	case Respond:
		return k != OpenURL
	default:
		return true
	}
}
