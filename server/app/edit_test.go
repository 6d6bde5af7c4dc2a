package app_test

import (
	"errors"
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
	"github.com/beckon-dev/beckon/sync/proof"
)

// amountSchema takes an amount up to 100 and a name.
const amountSchema = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"size":{"type":"integer","maximum":100}},"additionalProperties":false}`

// editable is a question whose arguments a person may change.
func editable(c *app.RequestDecision) {
	c.Items[0].Action.ArgsSchema = []byte(amountSchema)
	c.Items[0].Options = []decision.Option{
		{ID: "approve", Label: "Approve", Kind: decision.AllowOnce}, {ID: "edit", Label: "Edit", Kind: decision.Edit},
		{ID: "deny", Label: "Deny", Kind: decision.RejectOnce}, {ID: "ignore", Label: "Go on", Kind: decision.Ignore},
	}
}

// edits is the answer that allows an action with other arguments, signed.
func (h *harness) edits(d decision.State, args string) app.AnswerDecision {
	h.t.Helper()
	c := reply(h.t, d, "edit")
	c.Items[0].EditedArgs = []byte(args)
	return h.byPhone(c)
}

// byPhone signs an answer with the phone's key.
func (h *harness) byPhone(c app.AnswerDecision) app.AnswerDecision {
	h.t.Helper()
	var err error
	c.Proof, err = proof.SignAnswer(h.phone.key, h.tupleOf(h.phone, c))
	check(h.t, err)
	return c
}

func writeDigest(t *testing.T, args string) decision.Digest {
	t.Helper()
	d, err := proof.ActionDigest("files", "home", "write", []byte(args), nil)
	check(t, err)
	return decision.Digest(d)
}

// R12: what was granted is what the person wrote, whatever spelling it came in,
// and the digest that was asked stays beside it, also for a replay.
func TestEdit_GrantedBesideAsked(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, editable)
	w := h.watch(s.Thread)
	r := h.give(h.phone, h.edits(d, "{ \"size\" : 3.0, \"name\":\"x\" }"))
	w.expect("an edit", effects{
		Commits: 1, Account: []string{"decision", "counters"}, Thread: []string{"decision"},
		Audit: []string{"decision.answered by phone: edited"},
	})
	want := writeDigest(t, `{"name":"x","size":3}`)
	if r.Outcome != decision.Applied || len(r.Decision.Grants) != 1 || r.Decision.Grants[0].Digest != want {
		t.Fatalf("%v with grants %+v, want one for %x", r.Outcome, r.Decision.Grants, want)
	}
	again := h.request(held, editable)
	if again.ID != d.ID || again.Asked != d.Asked || again.Items[0].Action.Digest != d.Items[0].Action.Digest || again.Grants[0].Digest != want {
		t.Errorf("the replay is %+v", again)
	}
	act, ok := again.Permitted("it")
	if !ok || string(act.ArgsJSON) != "{ \"size\" : 3.0, \"name\":\"x\" }" {
		t.Errorf("permitted %s, %v", act.ArgsJSON, ok)
	}
	if r := h.give(h.phone, h.edits(d, `{"name":"x","size":3}`)); r.Outcome != decision.Same {
		t.Errorf("the same arguments in another spelling: %v", r.Outcome)
	}
	if r := h.give(h.phone, h.edits(d, `{"name":"x","size":4}`)); r.Outcome != decision.Conflict {
		t.Errorf("other arguments: %v", r.Outcome)
	}
}

// Arguments that do not fit are told with their place, and nothing is written.
func TestEdit_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, editable)
	w := h.watch(s.Thread)
	for args, want := range map[string]error{
		`{"name":"x","size":101}`:   &app.FieldError{Field: "items[0].edited_args_json/size", Reason: "SCHEMA"},
		`{"size":1}`:                &app.FieldError{Field: "items[0].edited_args_json", Reason: "SCHEMA"},
		`{"name":"x","name":"y"}`:   &app.FieldError{Field: "items[0].edited_args_json", Reason: "DUPLICATE_KEY"},
		`{"size":9007199254740993}`: &app.FieldError{Field: "items[0].edited_args_json", Reason: "NUMBER_RANGE"},
		`[]`:                        &app.FieldError{Field: "items[0].edited_args_json", Reason: "NOT_OBJECT"},
		"":                          &decision.InvalidError{Field: "items[0].edited_args_json", Reason: "MISSING"},
	} {
		_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, h.edits(d, args))
		sameNamed(t, args, err, want)
	}
	// The proof is for these arguments and no others.
	c := h.edits(d, `{"name":"x","size":3}`)
	c.Items[0].EditedArgs = []byte(`{"name":"x","size":4}`)
	_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, c)
	sameError(t, err, app.ErrProof)
	w.expect("edits that do not fit", effects{Badge: store.Counters{OpenDecisions: 1}})
	// A schema that cannot be used never reaches the person.
	_, err = h.app.RequestDecision(t.Context(), h.agent, question(held, func(c *app.RequestDecision) {
		c.Name, c.Items[0].Action.ArgsSchema = "other", []byte(`{"properties":{"a":{"$ref":"http://x.example"}}}`)
	}))
	sameError(t, err, &app.FieldError{Field: "items[0].action.args_schema_json/properties/a/$ref", Reason: "UNSUPPORTED"})
	// And one who wants other edits has asked something else.
	other := h.request(held, editable, func(c *app.RequestDecision) { c.Name, c.Items[0].Action.ArgsSchema = "third", nil })
	if other.ID == d.ID {
		t.Error("questions with other bounds for edits joined")
	}
}

// A person sees what they would allow before they do.
func TestPreviewEdit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, editable)
	w := h.watch(s.Thread)
	ask := app.PreviewEdit{Decision: d.ID, Revision: d.Revision, Item: "it", Args: []byte(`{"name":"p\u0430y"}`)}
	got, err := h.app.PreviewEdit(t.Context(), h.phone.Principal, ask)
	check(t, err)
	w.expect("a look", effects{Badge: store.Counters{OpenDecisions: 1}})
	if fact := got.Facts[3]; fact.Label != "args.name" || fact.Value != "p[U+0430]y" || !fact.Marked {
		t.Errorf("facts %+v", got.Facts)
	}
	r := h.give(h.phone, h.edits(d, string(ask.Args)))
	if r.Outcome != decision.Applied || r.Decision.Grants[0].Digest != got.Digest {
		t.Errorf("%v, and the grant is not for what was shown", r.Outcome)
	}
	_, err = h.app.PreviewEdit(t.Context(), h.phone.Principal, ask)
	sameNamed(t, "closed", err, app.ErrClosed)

	open := h.request(held, editable, func(c *app.RequestDecision) { c.Name, c.Items[0].Action.Connection = "two", "work" })
	plain := h.request(held, func(c *app.RequestDecision) { c.Name = "three" })
	for name, c := range map[string]struct {
		ask  app.PreviewEdit
		want error
	}{
		"another revision": {app.PreviewEdit{Decision: open.ID, Revision: 2, Item: "it", Args: []byte("{}")}, app.ErrStale},
		"another item":     {app.PreviewEdit{Decision: open.ID, Revision: 1, Item: "that", Args: []byte("{}")}, &app.FieldError{Field: "item_id", Reason: "NOT_EDITABLE"}},
		"not editable":     {app.PreviewEdit{Decision: plain.ID, Revision: 1, Item: "it", Args: []byte("{}")}, &app.FieldError{Field: "item_id", Reason: "NOT_EDITABLE"}},
		"no object":        {app.PreviewEdit{Decision: open.ID, Revision: 1, Item: "it", Args: []byte("1")}, &app.FieldError{Field: "edited_args_json", Reason: "NOT_OBJECT"}},
		"wrong":            {app.PreviewEdit{Decision: open.ID, Revision: 1, Item: "it", Args: []byte(`{"name":1}`)}, &app.FieldError{Field: "edited_args_json/name", Reason: "SCHEMA"}},
	} {
		_, err := h.app.PreviewEdit(t.Context(), h.phone.Principal, c.ask)
		sameNamed(t, name, err, c.want)
	}
	stranger := h.newDevice(h.newAccount(), store.PlatformIOS)
	_, err = h.app.PreviewEdit(t.Context(), stranger.Principal, app.PreviewEdit{Decision: open.ID, Revision: 1, Item: "it", Args: []byte("{}")})
	sameNamed(t, "a stranger", err, store.ErrNotFound)
}

// curie#2885: what was denied is refused in this task, also when it is what the
// person had written over something else; an edit opens it like a message does.
func TestEdit_DeniedBefore(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	ask := func(name, args string) (decision.State, error) {
		return h.app.RequestDecision(t.Context(), h.agent, question(held, editable, func(c *app.RequestDecision) {
			c.Name, c.Items[0].Action.ArgsJSON = name, []byte(args)
		}))
	}
	first, err := ask("first", `{"name":"a"}`)
	check(t, err)
	if r := h.give(h.phone, h.edits(first, `{"name":"b"}`)); r.Outcome != decision.Applied {
		t.Fatal(r.Outcome)
	}
	second, err := ask("second", `{"name":"b"}`)
	check(t, err)
	if r := h.give(h.phone, h.signed(h.phone, second, "deny")); r.Outcome != decision.Applied {
		t.Fatal(r.Outcome)
	}
	_, err = ask("third", `{ "name": "b" }`)
	sameNamed(t, "what was written and then denied", err, app.ErrDeniedBefore)
	fourth, err := ask("fourth", `{"name":"c"}`)
	check(t, err)
	if r := h.give(h.phone, h.edits(fourth, `{"name":"d"}`)); r.Outcome != decision.Applied {
		t.Fatal(r.Outcome)
	}
	if _, err := ask("fifth", `{"name":"b"}`); err != nil {
		t.Errorf("after an edit: %v", err)
	}
	// To go on without an answer denies nothing.
	sixth, err := ask("sixth", `{"name":"f"}`)
	check(t, err)
	if r := h.give(h.phone, h.signed(h.phone, sixth, "ignore")); r.Outcome != decision.Applied || r.Decision.Grants != nil {
		t.Fatal(r.Outcome)
	}
	if _, err := ask("seventh", `{"name":"f"}`); errors.Is(err, app.ErrDeniedBefore) {
		t.Error("ignored counts as denied")
	}
}

// pydantic-ai#6968: what is handed out to be run is what the person wrote, and
// nothing else passes under the grant.
func TestEdit_RunsWhatWasWritten(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	d := h.request(held, editable)
	grant := h.give(h.phone, h.edits(d, `{"name":"x","size":3}`)).Decision.Grants[0].ID
	as := func(args string) *decision.Action {
		return &decision.Action{App: "files", Connection: "home", Operation: "write", ArgsJSON: []byte(args), Class: d.Items[0].Action.Class}
	}
	_, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "e", Grant: grant, Attempt: "1", Action: as(string(d.Items[0].Action.ArgsJSON))})
	sameNamed(t, "as it was asked", err, decision.ErrGrantDiffers)
	r, err := h.app.BeginEffect(t.Context(), h.agent, app.BeginEffect{Held: held, Name: "e", Grant: grant, Attempt: "1", Action: as(`{"size":3,"name":"x"}`)})
	check(t, err)
	if !r.Go || string(r.Effect.Action.ArgsJSON) != `{"name":"x","size":3}` || decision.Digest(r.Effect.Digest) != writeDigest(t, `{"name":"x","size":3}`) {
		t.Errorf("%v: to be run %s", r.Go, r.Effect.Action.ArgsJSON)
	}
}
