package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/proof"
)

func TestSchema_Check(t *testing.T) {
	t.Parallel()
	s, err := policy.CompileSchema([]byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["to"],
		"properties":{"to":{"$ref":"#/$defs/mail"},"cc":{"type":"array","items":{"$ref":"#/$defs/mail"}},"n":{"type":"integer","maximum":5}},
		"additionalProperties":false,"$defs":{"mail":{"type":"string","format":"email"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"to":"a@b.c"}`:                      "",
		`{"to":"a@b.c","n":5,"cc":["d@e.f"]}`: "",
		`{"to":"a@b.c","n":6}`:                `policy: schema: SCHEMA at "/n"`,
		`{"to":"nobody"}`:                     `policy: schema: SCHEMA at "/to"`,
		`{"to":"a@b.c","cc":["d@e.f","x"]}`:   `policy: schema: SCHEMA at "/cc/1"`,
		`{"to":"a@b.c","x/y":1}`:              `policy: schema: SCHEMA at ""`,
		`{}`:                                  `policy: schema: SCHEMA at ""`,
		`[]`:                                  "NOT_OBJECT",
		`{"to":"a","to":"b"}`:                 "DUPLICATE_KEY",
		`{"n":9007199254740993}`:              "NUMBER_RANGE",
	} {
		err := s.Check([]byte(value))
		got := string(proof.ReasonOf(err))
		if got == "" && err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// A schema fetches nothing and costs little, whatever an agent writes into it.
func TestSchema_Refused(t *testing.T) {
	t.Parallel()
	growing := `{"$defs":{"a0":{}`
	for i := range 8 {
		growing += fmt.Sprintf(`,"a%d":{"anyOf":[%s]}`, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/a%d"},`, i), 8), ","))
	}
	growing += `},"$ref":"#/$defs/a8"}`
	for name, c := range map[string]struct{ schema, want string }{
		"fetched over http":        {`{"$ref":"http://127.0.0.1:1/x"}`, `UNSUPPORTED at "/$ref"`},
		"read from disk":           {`{"properties":{"a":{"$ref":"file:///etc/passwd"}}}`, `UNSUPPORTED at "/properties/a/$ref"`},
		"by another name":          {`{"$id":"http://a.example/","type":"object"}`, `UNSUPPORTED at "/$id"`},
		"an anchor":                {`{"$ref":"#here"}`, `UNSUPPORTED at "/$ref"`},
		"a dynamic reference":      {`{"$dynamicRef":"#here"}`, `UNSUPPORTED at "/$dynamicRef"`},
		"another version":          {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `UNSUPPORTED at "/$schema"`},
		"a circle":                 {`{"properties":{"a":{"$ref":"#"}}}`, "RECURSIVE"},
		"a longer circle":          {`{"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"not":{"$ref":"#/$defs/a"}}},"$ref":"#/$defs/a"}`, "RECURSIVE"},
		"nowhere":                  {`{"$ref":"#/$defs/a"}`, `UNKNOWN_REFERENCE at ""`},
		"a short one of 8^8":       {growing, "TOO_COMPLEX"},
		"too many parts":           {`{"anyOf":[` + strings.TrimSuffix(strings.Repeat("{},", policy.MaxSchemaCost), ",") + `]}`, "TOO_COMPLEX"},
		"too long":                 {`{"title":"` + strings.Repeat("x", policy.MaxSchema) + `"}`, `LIMIT at ""`},
		"no schema":                {`{"type":"thing"}`, `INVALID at "/type"`},
		"a pattern nobody can run": {`{"properties":{"a":{"pattern":"(?=x)"}}}`, "INVALID"},
		"no object":                {`true`, "NOT_OBJECT"},
		"too deep":                 {strings.Repeat(`{"not":`, 30) + `{}` + strings.Repeat(`}`, 30), ""},
		"a key twice":              {`{"type":"object","type":"array"}`, "DUPLICATE_KEY"},
	} {
		_, err := policy.CompileSchema([]byte(c.schema))
		if got := fmt.Sprint(err); c.want != "" && !strings.Contains(got, c.want) || c.want == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Whatever an agent sends is refused in one of two ways or compiles, and what
// compiles can be held against a value.
func FuzzCompileSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"enum":[1,"a",null]}}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$ref":"#/a~1b","a/b":{"minProperties":1e2}}`), []byte(`{}`))
	f.Add([]byte(`{"patternProperties":{"^a":{"multipleOf":0.1}},"unevaluatedProperties":false}`), []byte(`{"ab":0.3}`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := policy.CompileSchema(schema)
		if err == nil {
			err = s.Check(value)
		}
		var refused *policy.SchemaError
		var input *proof.InputError
		if err != nil && !errors.As(err, &refused) && !errors.As(err, &input) {
			t.Fatalf("%v", err)
		}
	})
}
