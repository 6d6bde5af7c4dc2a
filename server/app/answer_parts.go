package app

import (
	"errors"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// checkSchemas compiles what the agent sent, so that no answer meets a schema
// that cannot be used, and refuses a form that asks for a secret.
func checkSchemas(items []decision.Item) error {
	for i, it := range items {
		if err := checkSchema(itemField(i, "response_schema_json"), it.Schema); err != nil {
			return err
		}
		if at := decision.SecretField(it.Schema); at != "" {
			return &FieldError{Field: itemField(i, "response_schema_json") + at, Reason: "SECRET"}
		}
		if it.Action == nil {
			continue
		}
		if err := checkSchema(itemField(i, "action.args_schema_json"), it.Action.ArgsSchema); err != nil {
			return err
		}
	}
	return nil
}

func checkSchema(field string, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := policy.CompileSchema(raw)
	return inField(field, err)
}

// digestParts computes the digests of edited arguments and of the content of
// forms, which the proof of an answer covers.
func digestParts(d decision.State, items []decision.AnswerItem) error {
	for i, a := range items {
		if len(a.Content) > 0 {
			digest, err := proof.ObjectDigest(a.Content)
			if err != nil {
				return inField(itemField(i, "content_json"), err)
			}
			items[i].ContentDigest = decision.Digest(digest)
		}
		if len(a.EditedArgs) == 0 {
			continue
		}
		it, ok := d.Item(a.Item)
		if !ok || it.Action == nil {
			continue // which does not fit, as the life cycle says
		}
		digest, err := editedDigest(it, a.EditedArgs)
		if err != nil {
			return inField(itemField(i, "edited_args_json"), err)
		}
		items[i].Edited = digest
	}
	return nil
}

// editedDigest is that of an item's action with other arguments.
func editedDigest(it decision.Item, args []byte) (decision.Digest, error) {
	digest, err := proof.ActionDigest(it.Action.App, it.Action.Connection, it.Action.Operation, args, it.Action.TargetJSON)
	return decision.Digest(digest), err
}

// misfit holds edited arguments and the content of forms against the schemas of
// a card. It compiles, so it runs before the transaction.
func misfit(d decision.State, items []decision.AnswerItem) error {
	for i, a := range items {
		it, ok := d.Item(a.Item)
		if !ok {
			continue
		}
		if err := satisfies(itemField(i, "content_json"), it.Schema, a.Content); err != nil {
			return err
		}
		if it.Action == nil {
			continue
		}
		if err := satisfies(itemField(i, "edited_args_json"), it.Action.ArgsSchema, a.EditedArgs); err != nil {
			return err
		}
	}
	return nil
}

func satisfies(field string, schema, value []byte) error {
	if len(schema) == 0 || len(value) == 0 {
		return nil
	}
	compiled, err := policy.CompileSchema(schema)
	if err != nil {
		return inField(field, err)
	}
	return inField(field, compiled.Check(value))
}

// inField names the field of what was wrong with a JSON value, with the place
// inside it as a JSON Pointer.
func inField(field string, err error) error {
	var schema *policy.SchemaError
	var input *proof.InputError
	switch {
	case errors.As(err, &schema):
		return &FieldError{Field: field + schema.At, Reason: schema.Reason}
	case errors.As(err, &input):
		return &FieldError{Field: field, Reason: string(input.Reason)}
	default:
		return err
	}
}
