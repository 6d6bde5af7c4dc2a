package decision

// Verb is a button on a notification. It stands for one fixed answer.
type Verb string

// The verbs a notification may carry.
const (
	Approve Verb = "approve"
	Deny    Verb = "deny"
)

// TapAnswer is the one answer that a verb stands for, if the question has
// exactly one: a single item with one way to say yes and one to say no, neither
// of which asks for words. An option to edit beside them is for the card, and so
// is a question about all the work of an account.
func TapAnswer(s State, v Verb) ([]AnswerItem, bool) {
	if len(s.Items) != 1 || s.Kind == OpenURL || s.Kind == AfterRestore || s.Items[0].Max > 0 {
		return nil, false
	}
	var yes, no string
	for _, o := range s.Items[0].Options {
		switch {
		case o.Kind == Edit:
			// A button cannot write; the card has it.
		case o.Text == TextRequired:
			return nil, false
		case o.Kind == RejectOnce && no == "":
			no = o.ID
		case (o.Kind == AllowOnce || o.Kind == Pick) && yes == "":
			yes = o.ID
		default:
			return nil, false
		}
	}
	if yes == "" || no == "" {
		return nil, false
	}
	chosen := no
	switch v {
	case Approve:
		chosen = yes
	case Deny:
	default:
		// A verb of another version must not come to mean yes.
		return nil, false
	}
	return []AnswerItem{{Item: s.Items[0].ID, Options: []string{chosen}}}, true
}

// Refusal is the plain no to every item, if there is one: without words, and to
// a question of an agent. Where nothing can be rejected, it is dismissed.
func (s State) Refusal() ([]AnswerItem, bool) {
	if s.Kind.OfServer() {
		return nil, false
	}
	var out []AnswerItem
	for _, it := range s.Items {
		id := ""
		for _, kind := range []OptionKind{RejectOnce, Cancel} {
			for _, o := range it.Options {
				if id == "" && o.Kind == kind && o.Text != TextRequired {
					id = o.ID
				}
			}
		}
		if id == "" {
			return nil, false
		}
		out = append(out, AnswerItem{Item: it.ID, Options: []string{id}})
	}
	return out, len(out) > 0
}
