package decision_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/decision"
)

func TestReadForm(t *testing.T) {
	t.Parallel()
	fields, ok := decision.ReadForm([]byte(`{"type":"object","required":["size","name"],"properties":{
		"name":{"type":"string","title":"Name","description":"Yours","minLength":1,"default":"Ada"},
		"mail":{"type":"string","format":"email"},
		"size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"]},
		"tier":{"type":"string","oneOf":[{"const":"a","title":"First"},{"const":"b"}]},
		"n":{"type":"integer","minimum":1},"f":{"type":"number"},"b":{"type":"boolean","default":true},
		"many":{"type":"array","minItems":1,"items":{"type":"string","enum":["x","y"]}},
		"some":{"type":"array","items":{"anyOf":[{"const":"p","title":"P"}]}}}}`))
	want := []decision.FormField{
		{Name: "name", Title: "Name", Help: "Yours", Type: decision.FieldString, Required: true, DefaultJSON: []byte(`"Ada"`)},
		{Name: "size", Type: decision.FieldChoice, Required: true, Choices: []decision.FormChoice{{Value: "s", Label: "Small"}, {Value: "l", Label: "Large"}}},
		{Name: "b", Type: decision.FieldBoolean, DefaultJSON: []byte("true")},
		{Name: "f", Type: decision.FieldNumber},
		{Name: "mail", Type: decision.FieldString, Format: "email"},
		{Name: "many", Type: decision.FieldChoices, Choices: []decision.FormChoice{{Value: "x", Label: "x"}, {Value: "y", Label: "y"}}},
		{Name: "n", Type: decision.FieldInteger},
		{Name: "some", Type: decision.FieldChoices, Choices: []decision.FormChoice{{Value: "p", Label: "P"}}},
		{Name: "tier", Type: decision.FieldChoice, Choices: []decision.FormChoice{{Value: "a", Label: "First"}, {Value: "b", Label: "b"}}},
	}
	if diff := cmp.Diff(want, fields); diff != "" || !ok {
		t.Error(ok, diff)
	}
	// What a phone cannot draw whole is not drawn in part.
	for name, schema := range map[string]string{
		"nothing":               `{"type":"object"}`,
		"no object":             `{"type":"array","items":{"type":"string"}}`,
		"an object in it":       `{"type":"object","properties":{"a":{"type":"object"}}}`,
		"two types":             `{"type":"object","properties":{"a":{"type":["string","null"]}}}`,
		"a condition":           `{"type":"object","properties":{"a":{"type":"string"}},"if":{}}`,
		"a pattern":             `{"type":"object","properties":{"a":{"type":"string","pattern":"x"}}}`,
		"a reference":           `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`,
		"a list of anything":    `{"type":"object","properties":{"a":{"type":"array"}}}`,
		"a list of numbers":     `{"type":"object","properties":{"a":{"type":"array","items":{"type":"number","enum":[1]}}}}`,
		"numbers to choose":     `{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`,
		"null to choose":        `{"type":"object","properties":{"a":{"type":"string","enum":["a",null]}}}`,
		"names for other":       `{"type":"object","properties":{"a":{"type":"string","enum":["a"],"enumNames":["A","B"]}}}`,
		"a format unknown":      `{"type":"object","properties":{"a":{"type":"string","format":"ipv4"}}}`,
		"an alternative":        `{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"a","minLength":1}]}}}`,
		"a member nobody draws": `{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`,
		"no JSON":               `{`,
	} {
		if fields, ok := decision.ReadForm([]byte(schema)); ok || fields != nil {
			t.Errorf("%s: %+v", name, fields)
		}
	}
}

// What is typed into a card is stored and synced, so a form asks for no secret.
func TestSecretField(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"properties":{"a":{"type":"string","format":"password"}}}`:                 "/properties/a",
		`{"properties":{"a":{"writeOnly":true}}}`:                                    "/properties/a",
		`{"properties":{"a":{"isSecret":true}}}`:                                     "/properties/a",
		`{"properties":{"Pass-Phrase":{"type":"string"}}}`:                           "/properties/Pass-Phrase",
		`{"properties":{"api_key":true}}`:                                            "/properties/api_key",
		`{"properties":{"a/b":{"format":"password"}}}`:                               "/properties/a~1b",
		`{"allOf":[{"properties":{"x":{"items":{"format":"password"}}}}]}`:           "/allOf/properties/x/items",
		`{"properties":{"a":{"type":"string","default":{"format":"password"}}}}`:     "",
		`{"properties":{"a":{"enum":["password"]},"passport":{"type":"string"}}}`:    "",
		`{"properties":{"a":{"writeOnly":false}},"title":"Your password is unsafe"}`: "",
		`{`: "",
	} {
		if got := decision.SecretField([]byte(schema)); got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}

// Whatever comes in, reading a form neither fails nor draws a field that is not
// a member of the schema.
func FuzzReadForm(f *testing.F) {
	f.Add([]byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"array","items":{"enum":["x"]}}}}`))
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"a"}]}}}`))
	f.Add([]byte(`{"properties":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_ = decision.SecretField(raw)
		fields, ok := decision.ReadForm(raw)
		if !ok {
			if fields != nil {
				t.Fatal("fields of a form that cannot be drawn")
			}
			return
		}
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if json.Unmarshal(raw, &schema) != nil || len(fields) != len(schema.Properties) {
			t.Fatalf("%d fields of %d", len(fields), len(schema.Properties))
		}
		for _, one := range fields {
			if one.Type < decision.FieldString || one.Type > decision.FieldChoices || (len(one.Choices) > 0) != (one.Type >= decision.FieldChoice) {
				t.Fatalf("%+v", one)
			}
		}
	})
}
