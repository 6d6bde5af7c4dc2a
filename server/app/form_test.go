package app_test

import (
	"testing"

	"github.com/beckon-dev/beckon/server/app"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/sync/decision"
)

func form(schema string) func(*app.RequestDecision) {
	return func(c *app.RequestDecision) {
		c.Kind, c.Items = decision.Form, []decision.Item{{ID: "it", Question: "Where to?", Schema: []byte(schema)}}
	}
}

const placeSchema = `{"type":"object","required":["city"],"properties":{"city":{"type":"string","minLength":2},"nights":{"type":"integer"}}}`

func TestForm_Content(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	s, held := h.startTask("one")
	d := h.request(held, form(placeSchema))
	w := h.watch(s.Thread)
	submit := func(content string) app.AnswerDecision {
		c := reply(t, d, "submit")
		c.Items[0].Content = []byte(content)
		return h.byPhone(c)
	}
	for content, want := range map[string]error{
		`{"city":"x"}`:                   &app.FieldError{Field: "items[0].content_json/city", Reason: "SCHEMA"},
		`{"city":"Oslo","nights":"two"}`: &app.FieldError{Field: "items[0].content_json/nights", Reason: "SCHEMA"},
		`{"city":"Oslo","city":"Rome"}`:  &app.FieldError{Field: "items[0].content_json", Reason: "DUPLICATE_KEY"},
		`"Oslo"`:                         &app.FieldError{Field: "items[0].content_json", Reason: "NOT_OBJECT"},
		"":                               &decision.InvalidError{Field: "items[0].content_json", Reason: "MISSING"},
	} {
		_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, submit(content))
		sameNamed(t, content, err, want)
	}
	// What is signed is this content.
	c := submit(`{"city":"Oslo"}`)
	c.Items[0].Content = []byte(`{"city":"Rome"}`)
	_, err := h.app.AnswerDecision(t.Context(), h.phone.Principal, c)
	sameError(t, err, app.ErrProof)
	w.expect("forms that do not fit", effects{Badge: store.Counters{OpenDecisions: 1}})

	r := h.give(h.phone, submit(`{"nights":2,"city":"Oslo"}`))
	if r.Outcome != decision.Applied || string(h.decision(d.ID).Answer.Items[0].Content) != `{"nights":2,"city":"Oslo"}` || r.Decision.Grants != nil {
		t.Errorf("%v: %+v", r.Outcome, r.Decision.Answer)
	}
	// hermes-agent#81048: declining is an answer of the person, with no content.
	other := h.request(held, form(placeSchema), func(c *app.RequestDecision) { c.Name, c.Items[0].Question = "two", "And then?" })
	if r := h.give(h.phone, h.signed(h.phone, other, "decline")); r.Outcome != decision.Applied || r.Decision.Answer.Items[0].Content != nil {
		t.Errorf("%v: %+v", r.Outcome, r.Decision.Answer)
	}
}

// What is typed into a card is stored and synced: secrets are asked for on a
// page of whoever they belong to.
func TestForm_Refused(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	for schema, want := range map[string]error{
		`{"type":"object","properties":{"p":{"type":"string","format":"password"}}}`: &app.FieldError{Field: "items[0].response_schema_json/properties/p", Reason: "SECRET"},
		`{"type":"object","properties":{"password":{"type":"string"}}}`:              &app.FieldError{Field: "items[0].response_schema_json/properties/password", Reason: "SECRET"},
		`{"type":"strange"}`: &app.FieldError{Field: "items[0].response_schema_json/type", Reason: "INVALID"},
		`{"$ref":"#"}`:       &app.FieldError{Field: "items[0].response_schema_json", Reason: "RECURSIVE"},
		`[1]`:                &app.FieldError{Field: "items[0].response_schema_json", Reason: "NOT_OBJECT"},
		``:                   &decision.InvalidError{Field: "items[0].response_schema_json", Reason: "MISSING"},
	} {
		_, err := h.app.RequestDecision(t.Context(), h.agent, question(held, form(schema)))
		sameNamed(t, schema, err, want)
	}
}

// A page is opened and left; whatever happens there permits nothing.
func TestOpenURL(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	_, held := h.startTask("one")
	page := func(name, url string) func(*app.RequestDecision) {
		return func(c *app.RequestDecision) {
			c.Name, c.Kind, c.Items = name, decision.OpenURL, []decision.Item{{ID: "it", Question: "Sign in", URL: url}}
		}
	}
	d := h.request(held, page("a", "https://login.example/x"))
	other := h.request(held, page("b", "https://login.example/y"))
	if other.ID == d.ID || other.Asked == d.Asked {
		t.Error("the address is no part of what is asked")
	}
	if facts := d.Items[0].Facts; len(facts) != 2 || facts[0] != (decision.Fact{Label: "Opens", Value: "login.example"}) {
		t.Errorf("facts %+v", facts)
	}
	if r := h.give(h.phone, h.signed(h.phone, d, "done")); r.Outcome != decision.Applied || r.Decision.Grants != nil {
		t.Errorf("%v, grants %v", r.Outcome, r.Decision.Grants)
	}
	// To leave it needs no proof, and denies nothing.
	if r := h.give(h.phone, reply(t, other, "cancel")); r.Outcome != decision.Applied {
		t.Errorf("leaving met %v", r.Outcome)
	}
	if _, err := h.app.RequestDecision(t.Context(), h.agent, question(held, page("c", "https://login.example/y"))); err != nil {
		t.Errorf("asked again after it was left: %v", err)
	}
}
