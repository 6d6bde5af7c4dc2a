package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// A value outside of a field's bounds is known before it is sent, and one inside
// is never held back.
func TestBounds(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"type":"object","properties":{
		"n":{"type":"integer","minimum":1,"maximum":9},"f":{"type":"number","minimum":0.5},"s":{"type":"string","minLength":2,"maxLength":3},
		"c":{"type":"string","enum":["red","green"]},"m":{"type":"array","minItems":1,"maxItems":1},"free":{"type":"string"}}}`)
	choices := []*v1.FormChoice{{Value: "red"}, {Value: "green"}}
	for _, c := range []struct {
		name  string
		kind  v1.FieldType
		value string
		want  string
	}{
		{"n", v1.FieldType_FIELD_TYPE_INTEGER, "9", ""},
		{"n", v1.FieldType_FIELD_TYPE_INTEGER, "10", "1 to 9 is wanted"},
		{"n", v1.FieldType_FIELD_TYPE_INTEGER, "1.5", "a whole number is wanted"},
		{"f", v1.FieldType_FIELD_TYPE_NUMBER, "0.25", "at least 0.5 is wanted"},
		{"f", v1.FieldType_FIELD_TYPE_NUMBER, "1e6", ""},
		{"s", v1.FieldType_FIELD_TYPE_STRING, `"日本"`, ""},
		{"s", v1.FieldType_FIELD_TYPE_STRING, `"abcd"`, "2 to 3 characters is wanted"},
		{"c", v1.FieldType_FIELD_TYPE_CHOICE, `"red"`, ""},
		{"c", v1.FieldType_FIELD_TYPE_CHOICE, `"blue"`, "one of red, green is wanted"},
		{"m", v1.FieldType_FIELD_TYPE_CHOICES, `["red"]`, ""},
		{"m", v1.FieldType_FIELD_TYPE_CHOICES, `["red","blue"]`, "some of red, green, with commas between, is wanted"},
		{"m", v1.FieldType_FIELD_TYPE_CHOICES, `["red","green"]`, "1 to 1 of them is wanted"},
		{"free", v1.FieldType_FIELD_TYPE_STRING, `""`, ""},
		{"free", v1.FieldType_FIELD_TYPE_BOOLEAN, "true", ""},
	} {
		f := &v1.FormField{Name: c.name, Type: c.kind, Choices: choices}
		if got := boundsOf(schema, c.name).refuses(f, json.RawMessage(c.value)); got != c.want {
			t.Errorf("%s = %s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
	if diff := cmp.Diff([]string{"as email", "2 to 3 characters"}, boundsOf(schema, "s").words("email")); diff != "" {
		t.Error(diff)
	}
}
