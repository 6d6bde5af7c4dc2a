package decision

import "slices"

// Edited is an item's action with the arguments that a person put in place of
// the agent's, and the facts drawn from it. Its digest is the caller's.
func Edited(it Item, class Class, args []byte) (Action, []Fact) {
	act := *it.Action
	act.ArgsJSON, act.Digest = args, Digest{}
	return act, drawFacts(act, class)
}

// Editable reports whether a person may put other arguments in place of an
// item's.
func (i Item) Editable() bool {
	for _, o := range i.Options {
		if o.Kind == Edit {
			return i.Action != nil
		}
	}
	return false
}

// Permitted is the action that an answer allowed for an item: the one that was
// asked about, with the person's arguments if they edited them. It is false for
// an item that was not allowed.
func (s State) Permitted(item string) (Action, bool) {
	if s.Answer == nil {
		return Action{}, false
	}
	for i, a := range s.Answer.Items {
		digest, ok := s.permitted(a)
		if a.Item != item || !ok {
			continue
		}
		act := *s.Items[i].Action
		act.Digest = digest
		if s.chose(a, Edit) {
			act.ArgsJSON = a.EditedArgs
		}
		return act, true
	}
	return Action{}, false
}

// permitted is the digest that an answer to an item allows, and whether it
// allows anything.
func (s State) permitted(a AnswerItem) (Digest, bool) {
	for _, it := range s.Items {
		switch {
		case it.ID != a.Item || it.Action == nil:
		case s.chose(a, Edit):
			return a.Edited, true
		case s.chose(a, AllowOnce):
			return it.Action.Digest, true
		}
	}
	return Digest{}, false
}

// WasEdited reports whether the answer put other arguments in place of the
// agent's.
func (s State) WasEdited() bool {
	if s.Answer == nil {
		return false
	}
	for _, a := range s.Answer.Items {
		if s.chose(a, Edit) {
			return true
		}
	}
	return false
}

// SameCard reports whether an open question can stand for a new one that asks
// the same: nothing that binds the person or comes back to the agent differs,
// and it does not need less of the person. The asked digest tells most of it,
// but not the class, what edits have to satisfy, or how choices go together. The
// open one may have more to look at.
func SameCard(open, asked State) bool {
	if open.Asked != asked.Asked || open.Class < asked.Class || open.Join != asked.Join {
		return false
	}
	for i, it := range open.Items {
		other := asked.Items[i]
		added := func(e Evidence) bool { return !slices.Contains(it.Evidence, e) }
		if slices.ContainsFunc(other.Evidence, added) || it.Min != other.Min || it.Max != other.Max || string(schemaOf(it)) != string(schemaOf(other)) {
			return false
		}
	}
	return true
}

func schemaOf(it Item) []byte {
	if it.Action == nil {
		return nil
	}
	return it.Action.ArgsSchema
}
