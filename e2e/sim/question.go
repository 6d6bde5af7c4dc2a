package sim

import (
	"fmt"

	"github.com/beckon-dev/beckon/sync/decision"
)

// question is one thing an agent may ask. Two requests with the same question
// have the same digest.
type question struct {
	name  string
	kind  decision.Kind
	class decision.Class
	// acts names the action of each item; "" is an item without one.
	acts []string
	// unclassed: the agent does not say how harmful the action is.
	unclassed bool
	// editable: a person may put other arguments in place of the agent's.
	editable bool
}

// questions is everything that is ever asked. Some share an action.
func questions() []question {
	return []question{
		{name: "note", kind: decision.ConfirmAction, class: 2, acts: []string{"note"}},
		{name: "note+tag", kind: decision.ConfirmAction, class: 2, acts: []string{"note", "tag"}},
		{name: "mail", kind: decision.ConfirmAction, class: 3, acts: []string{"mail"}, unclassed: true},
		{name: "pay", kind: decision.ConfirmAction, class: 4, acts: []string{"pay"}},
		{name: "look", kind: decision.ConfirmAction, class: 1, acts: []string{"look"}},
		{name: "which", kind: decision.Choose, class: 2, acts: []string{""}},
		{name: "words", kind: decision.Text, class: 2, acts: []string{""}},
		{name: "draft", kind: decision.ConfirmAction, class: 2, acts: []string{"note"}, editable: true},
		{name: "form", kind: decision.Form, class: 2, acts: []string{""}},
	}
}

// items is the question as an agent sends it.
func (q question) items() []decision.Item {
	if q.ofServer() {
		return []decision.Item{{ID: "result"}}
	}
	items := make([]decision.Item, len(q.acts))
	for i, act := range q.acts {
		items[i] = decision.Item{ID: fmt.Sprintf("i%d", i)}
		if act == "" {
			items[i].Question = "What about " + q.name + "?"
			if q.kind == decision.Form {
				items[i].Schema = []byte(formSchema)
			}
			if q.kind == decision.Choose {
				items[i].Options = []decision.Option{
					{ID: "yes", Label: "Yes", Kind: decision.Pick},
					{ID: "no", Label: "No", Kind: decision.RejectOnce},
				}
			}
			continue
		}
		items[i].Action = &decision.Action{
			App: "desk", Operation: act, ArgsJSON: []byte(`{"name":"` + act + `"}`),
		}
		if q.editable {
			items[i].Action.ArgsSchema = []byte(editsSchema)
			items[i].Options = []decision.Option{
				{ID: "approve", Label: "Approve", Kind: decision.AllowOnce}, {ID: "edit", Label: "Edit", Kind: decision.Edit},
				{ID: "deny", Label: "Deny", Kind: decision.RejectOnce},
			}
		}
		if !q.unclassed {
			class := q.class
			items[i].Action.Class = &class
		}
	}
	return items
}

// yes and no are the options that agree and refuse; a text only answers.
func (q question) yes() string {
	switch q.kind {
	case decision.Choose:
		return "yes"
	case decision.ReviewResult:
		return decision.ExitAccept
	case decision.Text:
		return "answer"
	case decision.Form:
		return "submit"
	default:
		return "approve"
	}
}

func (q question) no() string {
	switch q.kind {
	case decision.Choose:
		return "no"
	case decision.ReviewResult:
		return decision.ExitSendBack // which is no refusal
	case decision.Text:
		return "answer"
	case decision.Form:
		return "decline"
	default:
		return "deny"
	}
}

// refuses reports whether an option is a no.
func (q question) refuses(option string) bool {
	return option == "deny" || option == "no" || option == "decline"
}

// digests are what a denial of item i, or of the whole, is remembered by.
func (q question) digests() []string {
	out := []string{"question " + q.name}
	for _, act := range q.acts {
		if act != "" {
			out = append(out, "action "+act)
		}
	}
	return out
}

// denied is the digest that refusing item i puts on record.
func (q question) denied(i int) string {
	if q.acts[i] != "" {
		return "action " + q.acts[i]
	}
	return "question " + q.name
}
