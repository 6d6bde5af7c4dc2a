package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/beckon-dev/beckon/sync/proof"
)

// Limits of a schema that an agent sends. Its cost counts every subschema once
// for each place that leads to it, so that a short schema whose references
// multiply is refused before anything is held against it.
const (
	MaxSchema     = 16 << 10
	MaxSchemaCost = 2000
	maxDepth      = 32
)

// dialect is the one version of JSON Schema that is read.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// reasonUnsupported is what a keyword that is not taken is refused for.
const reasonUnsupported = "UNSUPPORTED"

// SchemaError: a schema that is not taken, or a value that does not satisfy one.
// At is a JSON Pointer, into the schema or into the value.
type SchemaError struct {
	At     string
	Reason string
}

// Error implements error.
func (e *SchemaError) Error() string { return fmt.Sprintf("policy: schema: %s at %q", e.Reason, e.At) }

// Schema is a compiled JSON Schema 2020-12. It is good for one goroutine at a
// time or many.
type Schema struct{ compiled *jsonschema.Schema }

// CompileSchema reads a schema and fetches nothing: references lead into the
// schema itself and never in a circle. It takes time, so it runs outside of
// transactions. Errors: *SchemaError; *proof.InputError for what is no I-JSON
// object.
func CompileSchema(raw []byte) (*Schema, error) {
	if len(raw) > MaxSchema {
		return nil, &SchemaError{Reason: "LIMIT"}
	}
	if err := proof.CheckObject(raw); err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, &SchemaError{Reason: "SYNTAX"}
	}
	cost := costing{root: doc, known: map[string]int{}, open: map[string]bool{}}
	if _, err := cost.of(doc, "", 0); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseLoader(noLoader{})
	const here = "urn:beckon:schema"
	if err := c.AddResource(here, doc); err != nil {
		return nil, &SchemaError{Reason: "INVALID"}
	}
	compiled, err := c.Compile(here)
	if err != nil {
		return nil, &SchemaError{At: placeOf(err), Reason: "INVALID"}
	}
	return &Schema{compiled}, nil
}

// Check holds a JSON object against the schema. Errors: *SchemaError with the
// place in the object; *proof.InputError for what is no I-JSON object.
func (s *Schema) Check(raw []byte) error {
	if err := proof.CheckObject(raw); err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return &SchemaError{Reason: "SYNTAX"}
	}
	if err := s.compiled.Validate(value); err != nil {
		return &SchemaError{At: placeOf(err), Reason: "SCHEMA"}
	}
	return nil
}

// noLoader fetches nothing.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("policy: nothing is fetched") }

// placeOf is where in the value the first thing is wrong, as a JSON Pointer.
func placeOf(err error) string {
	var invalid *jsonschema.ValidationError
	if schema, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = schema.Err
	}
	if !errors.As(err, &invalid) {
		return ""
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return pointer(invalid.InstanceLocation)
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(t))
	}
	return b.String()
}

// costing walks a schema before it is compiled.
type costing struct {
	root  any
	known map[string]int  // cost of what a reference leads to
	open  map[string]bool // references that are being followed
}

// of is the cost of a part of the schema at a place. Parts that hold no
// schemas, as defaults and enums do, cost as if they did.
func (c *costing) of(v any, at string, depth int) (int, error) {
	if depth > maxDepth {
		return 0, &SchemaError{At: at, Reason: "TOO_DEEP"}
	}
	total := 1
	add := func(child any, name string) error {
		n, err := c.of(child, at+pointer([]string{name}), depth+1)
		if total += n; err == nil && total > MaxSchemaCost {
			err = &SchemaError{At: at, Reason: "TOO_COMPLEX"}
		}
		return err
	}
	switch v := v.(type) {
	case []any:
		for i, child := range v {
			if err := add(child, fmt.Sprint(i)); err != nil {
				return total, err
			}
		}
	case map[string]any:
		for name, child := range v {
			if err := refused(name, child); err != "" {
				return total, &SchemaError{At: at + pointer([]string{name}), Reason: err}
			}
			target, ok := child.(string)
			if name != "$ref" || !ok {
				if err := add(child, name); err != nil {
					return total, err
				}
				continue
			}
			n, err := c.follow(target, at, depth)
			if total += n; err == nil && total > MaxSchemaCost {
				err = &SchemaError{At: at, Reason: "TOO_COMPLEX"}
			}
			if err != nil {
				return total, err
			}
		}
	}
	return total, nil
}

// refused says why a keyword is not taken: what makes a reference mean another
// place than the one it names, or another version of the language.
func refused(name string, value any) string {
	text, isText := value.(string)
	switch {
	case !isText:
		return ""
	case name == "$schema" && strings.TrimSuffix(text, "#") != dialect:
		return reasonUnsupported
	case name == "$id", name == "$anchor", name == "$dynamicRef", name == "$dynamicAnchor", name == "$recursiveRef":
		return reasonUnsupported
	case name == "$ref" && text != "#" && !strings.HasPrefix(text, "#/"):
		return reasonUnsupported
	default:
		return ""
	}
}

// follow is the cost of what a reference leads to.
func (c *costing) follow(ref, at string, depth int) (int, error) {
	if c.open[ref] {
		return 0, &SchemaError{At: at, Reason: "RECURSIVE"}
	}
	if n, ok := c.known[ref]; ok {
		return n, nil
	}
	target, ok := c.find(ref)
	if !ok {
		return 0, &SchemaError{At: at, Reason: "UNKNOWN_REFERENCE"}
	}
	c.open[ref] = true
	n, err := c.of(target, at, depth+1)
	delete(c.open, ref)
	c.known[ref] = n
	return n, err
}

// find is the part of the schema that a reference names.
func (c *costing) find(ref string) (any, bool) {
	at := c.root
	path := strings.TrimPrefix(ref, "#")
	if strings.Contains(path, "%") {
		return nil, false // one spelling of a place is enough
	}
	for _, token := range strings.Split(path, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := at.(type) {
		case map[string]any:
			child, ok := v[token]
			if !ok {
				return nil, false
			}
			at = child
		case []any:
			i := json.Number(token)
			n, err := i.Int64()
			if err != nil || n < 0 || n >= int64(len(v)) {
				return nil, false
			}
			at = v[n]
		default:
			return nil, false
		}
	}
	return at, true
}
