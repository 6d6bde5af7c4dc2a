package decision

import "slices"

// fits: one answer per item, in order, with as many known options as the item
// takes, and with each of them what it needs and nothing else.
func fits(s State, items []AnswerItem) error {
	if len(items) != len(s.Items) {
		return invalid("ITEMS_DIFFER", "items")
	}
	for i, a := range items {
		if a.Item != s.Items[i].ID {
			return invalid("ITEMS_DIFFER", "items[%d].item_id", i)
		}
		chosen, err := chosenOf(s.Items[i], a, i)
		if err != nil {
			return err
		}
		if err := fitsParts(s.Kind, chosen, a, i); err != nil {
			return err
		}
	}
	return fitTogether(s, items)
}

// chosenOf finds the options of an answer: exactly one, or as many as the item
// says if all of them are plain choices.
func chosenOf(it Item, a AnswerItem, i int) ([]Option, error) {
	var chosen []Option
	plain := true
	for j, id := range a.Options {
		o, ok := it.Option(id)
		if !ok {
			return nil, invalid("UNKNOWN_OPTION", "items[%d].option_ids[%d]", i, j)
		}
		if slices.Contains(a.Options[:j], id) {
			return nil, invalid("DUPLICATE", "items[%d].option_ids[%d]", i, j)
		}
		chosen, plain = append(chosen, o), plain && o.Kind == Pick
	}
	n := uint32(len(chosen))
	switch {
	case it.Max == 0 || !plain:
		if n != 1 {
			return nil, invalid("ONE_OPTION", "items[%d].option_ids", i)
		}
	case n < it.Min:
		return nil, invalid("TOO_FEW", "items[%d].option_ids", i)
	case n > it.Max:
		return nil, invalid("TOO_MANY", "items[%d].option_ids", i)
	}
	return chosen, nil
}

// fitsParts judges what stands beside the chosen options.
func fitsParts(kind Kind, chosen []Option, a AnswerItem, i int) error {
	var edits, answers, words, needsWords bool
	for _, o := range chosen {
		edits = edits || o.Kind == Edit
		answers = answers || kind == Form && o.Kind == Respond
		words = words || o.Text != TextNone
		needsWords = needsWords || o.Text == TextRequired
	}
	for _, part := range []struct {
		name                   string
		given, needed, allowed bool
	}{
		{"text", a.Text != "", needsWords, words},
		{"edited_args_json", len(a.EditedArgs) > 0, edits, edits},
		{"content_json", len(a.Content) > 0, answers, answers},
	} {
		if part.needed && !part.given {
			return invalid("MISSING", "items[%d].%s", i, part.name)
		}
		if part.given && !part.allowed {
			return invalid("NOT_ALLOWED", "items[%d].%s", i, part.name)
		}
	}
	return nil
}

// fitTogether holds actions that belong together to one verdict.
func fitTogether(s State, items []AnswerItem) error {
	if s.Join != AllItems || !s.Allows(items) {
		return nil
	}
	for i, a := range items {
		if s.Items[i].Action != nil && !s.allows(a) {
			return invalid("ALL_OR_NONE", "items[%d].option_ids", i)
		}
	}
	return nil
}
