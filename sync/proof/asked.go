package proof

import (
	"encoding/json"
	"fmt"
)

// actionDocument is the JSON an action digest is computed over. All members
// are always there; an absent args or target is null.
type actionDocument struct {
	App        string          `json:"app"`
	Args       json.RawMessage `json:"args"`
	Connection string          `json:"connection"`
	Operation  string          `json:"operation"`
	Target     json.RawMessage `json:"target"`
}

// ActionDigest names one exact action on the outside world: question, answer,
// grant and execution carry it, so approving X can never run Y. It is SHA-256
// of the canonical JSON of
//
//	{"app":…,"args":{…}|null,"connection":…,"operation":…,"target":…|null}
//
// with app, connection and operation as strings ("" when there is none). args
// is a raw JSON object, target any raw JSON value; zero length means absent and
// is hashed as null. Class, policy version and prose are not part of it: an
// edit of a rule must not void what a person approved. Errors are
// [*InputError].
func ActionDigest(app, connection, operation string, args, target []byte) (Digest, error) {
	doc := actionDocument{App: app, Connection: connection, Operation: operation}
	for _, text := range []struct{ field, value string }{
		{"app", app}, {"connection", connection}, {"operation", operation},
	} {
		if err := checkText(text.value); err != nil {
			return Digest{}, inField(text.field, err)
		}
	}
	var err error
	if doc.Args, err = optionalObject(args); err != nil {
		return Digest{}, inField("args", err)
	}
	if len(target) > 0 {
		if err := check(target, false); err != nil {
			return Digest{}, inField("target", err)
		}
		doc.Target = target
	}
	return documentDigest(doc)
}

// Option is one choice of an asked item as far as a digest cares: what it is
// called in an answer and what it does. Labels may be translated.
type Option struct {
	// ID names the option in an answer; unique in its item.
	ID string `json:"id"`
	// Kind is what choosing it means, such as an approval or a refusal.
	Kind string `json:"kind"`
}

// AskedItem is one question of a decision. Exactly one of Action and Question
// is set.
type AskedItem struct {
	// ItemID names the item in an answer; unique in its decision.
	ItemID string
	// Action is the [ActionDigest] of what is to be permitted.
	Action Digest
	// Question is the text asked where no action is to be permitted.
	Question string
	// Options are the choices in the order they are shown.
	Options []Option
	// ResponseSchema is the raw JSON Schema of a form, empty if there is none.
	ResponseSchema []byte
	// URL is the page to open, empty if there is none. It is hashed as the last
	// line of the question.
	URL string
}

type askedItemDocument struct {
	ActionDigest   *Digest         `json:"action_digest"`
	ItemID         string          `json:"item_id"`
	Options        []Option        `json:"options"`
	Question       *string         `json:"question"`
	ResponseSchema json.RawMessage `json:"response_schema"`
}

type askedDocument struct {
	Items []askedItemDocument `json:"items"`
	Kind  string              `json:"kind"`
}

// AskedDigest names one exact question: an answer that carries it cannot be
// moved to a changed card. It is SHA-256 of the canonical JSON of
//
//	{"items":[{"action_digest":"<64 hex>"|null,"item_id":…,
//	           "options":[{"id":…,"kind":…}],"question":…|null,
//	           "response_schema":{…}|null}],
//	 "kind":…}
//
// All members are always there. Where a page is to be opened, the question is
// hashed with a line feed and the page's address behind it. Items and options keep the order in which they
// are shown, since order is part of what a person sees. Errors are
// [*InputError] with the field as items[0].options[1].id.
func AskedDigest(kind string, items []AskedItem) (Digest, error) {
	if err := checkName(kind); err != nil {
		return Digest{}, inField("kind", err)
	}
	doc := askedDocument{Kind: kind, Items: make([]askedItemDocument, 0, len(items))}
	seen := map[string]bool{}
	for i, item := range items {
		out, err := askedItem(item, seen)
		if err != nil {
			return Digest{}, inField(fmt.Sprintf("items[%d]", i), err)
		}
		doc.Items = append(doc.Items, out)
	}
	if len(items) == 0 {
		return Digest{}, &InputError{Field: "items", Reason: ReasonMissing}
	}
	return documentDigest(doc)
}

func askedItem(item AskedItem, seen map[string]bool) (askedItemDocument, error) {
	out := askedItemDocument{ItemID: item.ItemID, Options: make([]Option, 0, len(item.Options))}
	if err := checkUnique(item.ItemID, seen); err != nil {
		return out, inField("item_id", err)
	}
	switch {
	case !item.Action.IsZero() && item.Question != "":
		return out, &InputError{Field: "question", Reason: ReasonExclusive}
	case !item.Action.IsZero():
		out.ActionDigest = &item.Action
	default:
		if err := checkName(item.Question); err != nil {
			return out, inField("question", err)
		}
		out.Question = &item.Question
	}
	if item.URL != "" {
		if err := checkURL(item); err != nil {
			return out, inField("url", err)
		}
		asked := item.Question + "\n" + item.URL
		out.Question = &asked
	}
	chosen := map[string]bool{}
	for i, option := range item.Options {
		if err := checkUnique(option.ID, chosen); err != nil {
			return out, inField(fmt.Sprintf("options[%d].id", i), err)
		}
		if err := checkName(option.Kind); err != nil {
			return out, inField(fmt.Sprintf("options[%d].kind", i), err)
		}
		out.Options = append(out.Options, option)
	}
	var err error
	if out.ResponseSchema, err = optionalObject(item.ResponseSchema); err != nil {
		return out, inField("response_schema", err)
	}
	return out, nil
}

// checkURL refuses an address that would not be one last line.
func checkURL(item AskedItem) error {
	if !item.Action.IsZero() {
		return &InputError{Reason: ReasonExclusive}
	}
	for _, r := range item.URL {
		if r <= ' ' || r > '~' {
			return &InputError{Reason: ReasonSyntax}
		}
	}
	return nil
}

// ObjectDigest is SHA-256 of the canonical JSON of an object that stands for
// itself, such as the content of a filled-in form. Errors are [*InputError].
func ObjectDigest(raw []byte) (Digest, error) {
	out, err := CanonicalObject(raw)
	if err != nil {
		return Digest{}, err
	}
	return Sum(out), nil
}

// optionalObject checks a part on its own, so that its limits do not depend on
// the document it is put into; nil is written as null.
func optionalObject(raw []byte) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := check(raw, true); err != nil {
		return nil, err
	}
	return raw, nil
}

// documentDigest hashes a document whose texts and parts have been checked.
func documentDigest(doc any) (Digest, error) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return Digest{}, fmt.Errorf("encode: %w", &InputError{Reason: ReasonSyntax})
	}
	out, err := transform(raw)
	if err != nil {
		return Digest{}, err
	}
	return Sum(out), nil
}

// checkName refuses an empty text or one that is not I-JSON.
func checkName(text string) error {
	if text == "" {
		return &InputError{Reason: ReasonMissing}
	}
	return checkText(text)
}

// checkUnique is checkName for ids that may occur once.
func checkUnique(id string, seen map[string]bool) error {
	if err := checkName(id); err != nil {
		return err
	}
	if seen[id] {
		return &InputError{Reason: ReasonRepeated}
	}
	seen[id] = true
	return nil
}
