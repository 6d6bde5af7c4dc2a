package decision

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
)

// FieldType is what one field of a form holds.
type FieldType uint8

// Types, as on the wire.
const (
	FieldString  FieldType = 1
	FieldNumber  FieldType = 2
	FieldInteger FieldType = 3
	FieldBoolean FieldType = 4
	// FieldChoice is one of Choices, FieldChoices several of them.
	FieldChoice  FieldType = 5
	FieldChoices FieldType = 6
)

// FormField is one line of a form that every client can draw.
type FormField struct {
	Name string
	// Title and Help are the agent's words.
	Title, Help string
	Type        FieldType
	Required    bool
	// Format is email, uri, date or date-time; empty for plain text.
	Format string
	// DefaultJSON is the value it starts with; empty for none.
	DefaultJSON []byte
	Choices     []FormChoice
}

// FormChoice is one value of a field with choices.
type FormChoice struct{ Value, Label string }

// fieldSchema is what the phone profile knows of a field. Another keyword in it
// needs a web form.
type fieldSchema struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Format      string            `json:"format"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []constSchema     `json:"oneOf"`
	AnyOf       []constSchema     `json:"anyOf"`
	Items       *fieldSchema      `json:"items"`
}

type constSchema struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// asksNothing reports whether a schema leaves a person nothing to fill in: an
// object without a member, and without a keyword that could give it one.
func asksNothing(schema []byte) bool {
	var form map[string]json.RawMessage
	if json.Unmarshal(schema, &form) != nil {
		return false // what it is instead is judged where schemas are read
	}
	for keyword, raw := range form {
		switch keyword {
		case "type":
			if string(raw) != `"object"` {
				return false
			}
		case "$schema", "$id", "$comment", "title", "description", "additionalProperties", "required":
		case "properties", "$defs":
			var members map[string]json.RawMessage
			if json.Unmarshal(raw, &members) != nil || keyword == "properties" && len(members) > 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// known are the keywords of the phone profile. The bounds among them are
// checked with the answer and need no drawing.
var (
	knownOfForm  = []string{"$schema", "type", "title", "description", "properties", "required", "additionalProperties"}
	knownOfField = []string{
		"type", "title", "description", "default", "format", "enum", "enumNames", "oneOf", "items",
		"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "uniqueItems",
	}
	knownOfItems  = []string{"type", "enum", "enumNames", "anyOf", "oneOf"}
	knownOfConst  = []string{"const", "title"}
	formatsOfText = []string{"", "email", "uri", "date", "date-time"}
)

// ReadForm reads a schema of the phone profile: a flat object of strings,
// numbers, booleans and choices with defaults. It is false for every other
// schema; such a form is filled in where a web page can draw it. Fields are in
// the order of their names, the required ones first.
func ReadForm(schema []byte) ([]FormField, bool) {
	var form struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if !reads(schema, knownOfForm, &form) || form.Type != "object" || len(form.Properties) == 0 {
		return nil, false
	}
	var fields []FormField
	for name, raw := range form.Properties {
		f, ok := readField(raw)
		if !ok {
			return nil, false
		}
		f.Name, f.Required = name, slices.Contains(form.Required, name)
		fields = append(fields, f)
	}
	for _, name := range form.Required {
		if _, ok := form.Properties[name]; !ok {
			return nil, false
		}
	}
	sort.Slice(fields, func(i, j int) bool {
		if fields[i].Required != fields[j].Required {
			return fields[i].Required
		}
		return fields[i].Name < fields[j].Name
	})
	return fields, true
}

// reads decodes an object that has no other keywords than these.
func reads(raw []byte, known []string, into any) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil || all == nil {
		return false
	}
	for name := range all {
		if !slices.Contains(known, name) {
			return false
		}
	}
	return json.Unmarshal(raw, into) == nil
}

func readField(raw []byte) (FormField, bool) {
	var s fieldSchema
	if !reads(raw, knownOfField, &s) {
		return FormField{}, false
	}
	f := FormField{Title: s.Title, Help: s.Description, Format: s.Format, DefaultJSON: s.Default}
	if s.Type != "array" && s.Items != nil || s.Type != "string" && (s.Enum != nil || s.OneOf != nil || s.Format != "") {
		return f, false
	}
	switch s.Type {
	case "string":
		f.Type = FieldString
		choices, ok := readChoices(s.Enum, s.EnumNames, s.OneOf)
		if len(choices) > 0 {
			f.Type, f.Choices = FieldChoice, choices
		}
		return f, ok && slices.Contains(formatsOfText, s.Format) && constsOnly(raw, "oneOf")
	case "number":
		f.Type = FieldNumber
	case "integer":
		f.Type = FieldInteger
	case "boolean":
		f.Type = FieldBoolean
	case "array":
		return readChoicesField(f, raw, s)
	default:
		return f, false
	}
	return f, true
}

func readChoicesField(f FormField, raw []byte, s fieldSchema) (FormField, bool) {
	var whole struct {
		Items json.RawMessage `json:"items"`
	}
	var items fieldSchema
	if json.Unmarshal(raw, &whole) != nil || s.Items == nil || !reads(whole.Items, knownOfItems, &items) || items.Type != "" && items.Type != "string" {
		return f, false
	}
	choices, ok := readChoices(items.Enum, items.EnumNames, append(items.OneOf, items.AnyOf...))
	f.Type, f.Choices = FieldChoices, choices
	return f, ok && len(choices) > 0 && constsOnly(whole.Items, "anyOf") && constsOnly(whole.Items, "oneOf")
}

// readChoices reads an enum, with names for its values if it has them, or a
// list of constants with titles, but not both.
func readChoices(enum []json.RawMessage, names []string, consts []constSchema) ([]FormChoice, bool) {
	if len(enum) > 0 && len(consts) > 0 || len(names) > 0 && len(names) != len(enum) {
		return nil, false
	}
	var out []FormChoice
	for i, raw := range enum {
		var value *string
		if json.Unmarshal(raw, &value) != nil || value == nil {
			return nil, false
		}
		label := *value
		if len(names) > 0 {
			label = names[i]
		}
		out = append(out, FormChoice{*value, label})
	}
	for _, c := range consts {
		if c.Title == "" {
			c.Title = c.Const
		}
		out = append(out, FormChoice{c.Const, c.Title})
	}
	return out, true
}

// constsOnly reports whether every entry of a list of alternatives is a
// constant with a title and nothing else.
func constsOnly(raw []byte, name string) bool {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return false
	}
	var list []json.RawMessage
	if all[name] == nil {
		return true
	}
	if json.Unmarshal(all[name], &list) != nil {
		return false
	}
	return !slices.ContainsFunc(list, func(one json.RawMessage) bool {
		var c constSchema
		return !reads(one, knownOfConst, &c)
	})
}

// secretNames are fields that nobody should type into a card, in lower case
// without separators.
var secretNames = []string{"password", "passwd", "passphrase", "secret", "clientsecret", "apikey", "privatekey", "accesstoken", "pin", "otp", "cvv", "cvc"}

// SecretField is the place of the first field of a schema that asks for a
// secret, as a JSON Pointer; empty where none does. What is typed into a card is
// stored and synced to every device of the person, so secrets are asked for on a
// page of whoever they belong to.
func SecretField(schema []byte) string {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return ""
	}
	at, _ := secretIn(v, "")
	return at
}

func secretIn(v any, at string) (string, bool) {
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			if found, ok := secretIn(child, at); ok {
				return found, true
			}
		}
	case map[string]any:
		if format, _ := v["format"].(string); format == "password" {
			return at, true
		}
		for _, mark := range []string{"writeOnly", "secret", "isSecret", "x-secret"} {
			if set, _ := v[mark].(bool); set {
				return at, true
			}
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if name == "default" || name == "const" || name == "enum" || name == "examples" {
				continue // values, not schemas
			}
			place := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			if properties, ok := v[name].(map[string]any); ok && name == "properties" {
				for field := range properties {
					if slices.Contains(secretNames, plainName(field)) {
						return place + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(field), true
					}
				}
			}
			if found, ok := secretIn(v[name], place); ok {
				return found, true
			}
		}
	}
	return "", false
}

// plainName is a name in lower case without what people separate words by.
func plainName(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
}
