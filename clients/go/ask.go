package beckon

import (
	"encoding/json"
	"errors"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// AskAction asks to confirm one action. With edit the person may also allow it
// with other arguments; args_schema_json of the action says which.
func AskAction(key, title string, action *v1.Action, edit bool) *v1.RequestDecisionRequest {
	item := &v1.DecisionItem{Id: "action", Action: action}
	if edit {
		item.Options = []*v1.Option{
			{Id: "approve", Label: "Approve", Kind: v1.OptionKind_OPTION_KIND_ALLOW_ONCE},
			{Id: "edit", Label: "Edit", Kind: v1.OptionKind_OPTION_KIND_EDIT},
			{Id: "deny", Label: "Deny", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE, Text: v1.TextRule_TEXT_RULE_OPTIONAL},
		}
	}
	return ask(v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, key, title, item)
}

// AskForm asks to fill in a form. The schema is JSON Schema 2020-12; a flat
// object of plain fields is drawn by every client, anything more by web pages
// only. Secrets are refused: ask for them on a page of their owner, by [AskURL].
func AskForm(key, title string, schema []byte) *v1.RequestDecisionRequest {
	return ask(v1.DecisionKind_DECISION_KIND_FORM, key, title, &v1.DecisionItem{Id: "form", Question: title, ResponseSchemaJson: schema})
}

// AskURL asks to open an https page and to say when it is done. The answer
// permits nothing.
func AskURL(key, title, url string) *v1.RequestDecisionRequest {
	return ask(v1.DecisionKind_DECISION_KIND_OPEN_URL, key, title, &v1.DecisionItem{Id: "page", Question: title, Url: url})
}

// AskChoice asks which of some options, at least least and at most most of
// them; the options are of kind CHOOSE.
func AskChoice(key, title string, least, most uint32, options ...*v1.Option) *v1.RequestDecisionRequest {
	item := &v1.DecisionItem{Id: "choice", Question: title, Options: options}
	if most > 1 {
		item.Multi = &v1.MultiChoice{Min: least, Max: most}
	}
	return ask(v1.DecisionKind_DECISION_KIND_CHOOSE, key, title, item)
}

func ask(kind v1.DecisionKind, key, title string, item *v1.DecisionItem) *v1.RequestDecisionRequest {
	return &v1.RequestDecisionRequest{Key: key, Kind: kind, Title: title, Items: []*v1.DecisionItem{item}}
}

// Verdict is what became of one item of a decision.
type Verdict string

// The verdicts. Silence is Expired and never Denied; Dismissed is no denial
// either: the person did not want to answer.
const (
	Waiting   Verdict = "waiting"
	Allowed   Verdict = "allowed"
	Denied    Verdict = "denied"
	Dismissed Verdict = "dismissed"
	Answered  Verdict = "answered"
	Expired   Verdict = "expired"
	// Closed: canceled, superseded or withdrawn.
	Closed Verdict = "closed"
)

// Reply is an item's answer as a program wants to read it.
type Reply struct {
	Verdict Verdict
	// Options are the ids that were chosen.
	Options []string
	Text    string
	// Grant is the permission, and Args the arguments it is for: the person's
	// where they edited them, else the agent's. Both are absent unless Allowed.
	Grant *v1.Grant
	Args  []byte
	// Edited: Args are the person's.
	Edited bool
	// Content is a filled-in form, as the bytes the person sent.
	Content []byte
}

// ErrNoContent is returned where a reply has no form in it.
var ErrNoContent = errors.New("beckon: the answer has no form in it")

// Decode reads a filled-in form into v. Errors: [ErrNoContent], those of
// encoding/json.
func (r Reply) Decode(v any) error {
	if len(r.Content) == 0 {
		return ErrNoContent
	}
	return json.Unmarshal(r.Content, v)
}

// ReplyTo reads the answer to one item of a decision; the empty id is the first
// item.
func ReplyTo(d *v1.Decision, item string) Reply {
	if item == "" && len(d.GetItems()) > 0 {
		item = d.GetItems()[0].GetId()
	}
	switch d.GetState() {
	case v1.DecisionState_DECISION_STATE_PENDING:
		return Reply{Verdict: Waiting}
	case v1.DecisionState_DECISION_STATE_EXPIRED:
		return Reply{Verdict: Expired}
	case v1.DecisionState_DECISION_STATE_RESOLVED:
	default:
		return Reply{Verdict: Closed}
	}
	for _, a := range d.GetAnswer().GetItems() {
		if a.GetItemId() == item {
			return reply(d, itemOf(d, item), a)
		}
	}
	return Reply{Verdict: Closed}
}

func reply(d *v1.Decision, it *v1.DecisionItem, a *v1.AnswerItem) Reply {
	r := Reply{Verdict: Answered, Options: a.GetOptionIds(), Text: a.GetText(), Content: a.GetContentJson()}
	for _, o := range it.GetOptions() {
		if len(r.Options) == 0 || o.GetId() != r.Options[0] {
			continue
		}
		switch o.GetKind() {
		case v1.OptionKind_OPTION_KIND_ALLOW_ONCE:
			r.Verdict, r.Args = Allowed, it.GetAction().GetArgsJson()
		case v1.OptionKind_OPTION_KIND_EDIT:
			r.Verdict, r.Args, r.Edited = Allowed, a.GetEditedArgsJson(), true
		case v1.OptionKind_OPTION_KIND_REJECT_ONCE:
			r.Verdict = Denied
		case v1.OptionKind_OPTION_KIND_IGNORE, v1.OptionKind_OPTION_KIND_CANCEL:
			r.Verdict = Dismissed
		default:
		}
	}
	for _, g := range d.GetGrants() {
		if r.Verdict == Allowed && g.GetItemId() == it.GetId() {
			r.Grant = g
		}
	}
	return r
}
