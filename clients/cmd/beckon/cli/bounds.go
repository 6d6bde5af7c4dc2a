package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// bounds is what a form's schema asks of one field besides its type. The server
// judges an answer by the whole schema; this says it before somebody has typed.
type bounds struct {
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinLength *int     `json:"minLength"`
	MaxLength *int     `json:"maxLength"`
	MinItems  *int     `json:"minItems"`
	MaxItems  *int     `json:"maxItems"`
}

// boundsOf reads the bounds of a field; none where the schema is of another
// kind.
func boundsOf(schema []byte, name string) bounds {
	var form struct {
		Properties map[string]bounds `json:"properties"`
	}
	if json.Unmarshal(schema, &form) != nil {
		return bounds{}
	}
	return form.Properties[name]
}

// words are the bounds for people, with the format of a text.
func (b bounds) words(format string) []string {
	var out []string
	if format != "" {
		out = append(out, "as "+format)
	}
	if w := span(b.Minimum, b.Maximum, ""); w != "" {
		out = append(out, w)
	}
	if w := span(b.MinLength, b.MaxLength, " characters"); w != "" {
		out = append(out, w)
	}
	if w := span(b.MinItems, b.MaxItems, " of them"); w != "" {
		out = append(out, w)
	}
	return out
}

func span[N int | float64](least, most *N, of string) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf("%v to %v%s", *least, *most, of)
	case least != nil:
		return fmt.Sprintf("at least %v%s", *least, of)
	case most != nil:
		return fmt.Sprintf("at most %v%s", *most, of)
	default:
		return ""
	}
}

// refuses says what is wrong with a value of the field; "" for nothing.
func (b bounds) refuses(f *v1.FormField, value json.RawMessage) string {
	outside := func(is bool, words string) string {
		if is {
			return words + " is wanted"
		}
		return ""
	}
	var choices []string
	for _, c := range f.GetChoices() {
		choices = append(choices, c.GetValue())
	}
	switch f.GetType() {
	case v1.FieldType_FIELD_TYPE_NUMBER, v1.FieldType_FIELD_TYPE_INTEGER:
		var n float64
		if json.Unmarshal(value, &n) != nil {
			return "a number is wanted"
		}
		if f.GetType() == v1.FieldType_FIELD_TYPE_INTEGER && n != float64(int64(n)) {
			return "a whole number is wanted"
		}
		return outside(beyond(n, b.Minimum, b.Maximum), span(b.Minimum, b.Maximum, ""))
	case v1.FieldType_FIELD_TYPE_STRING:
		var text string
		if json.Unmarshal(value, &text) != nil {
			return "a text is wanted"
		}
		return outside(beyond(utf8.RuneCountInString(text), b.MinLength, b.MaxLength), span(b.MinLength, b.MaxLength, " characters"))
	case v1.FieldType_FIELD_TYPE_CHOICE:
		var one string
		_ = json.Unmarshal(value, &one) // what is no text is no choice either
		return outside(!slices.Contains(choices, one), "one of "+strings.Join(choices, ", "))
	case v1.FieldType_FIELD_TYPE_CHOICES:
		var several []string
		_ = json.Unmarshal(value, &several)
		for _, one := range several {
			if !slices.Contains(choices, one) {
				return outside(true, "some of "+strings.Join(choices, ", ")+", with commas between,")
			}
		}
		return outside(beyond(len(several), b.MinItems, b.MaxItems), span(b.MinItems, b.MaxItems, " of them"))
	default:
		return ""
	}
}

func beyond[N int | float64](n N, least, most *N) bool {
	return least != nil && n < *least || most != nil && n > *most
}
