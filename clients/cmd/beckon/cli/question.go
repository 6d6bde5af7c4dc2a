package cli

import (
	"errors"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/screen"
	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
	"github.com/beckon-dev/beckon/sync/proof"
)

// Bounds of the contract. They are checked here too, since a question outside
// of a task makes one first: what the server would refuse must not become a
// failed task in somebody's inbox.
const (
	mostArgs   = 128 << 10
	mostTarget = 8 << 10
	mostSchema = 16 << 10
)

// request makes the question, or says what is wrong with it.
func (c askCommand) request() (*v1.RequestDecisionRequest, error) {
	q := strings.TrimSpace(c.Question)
	switch {
	case q == "" || !utf8.ValidString(q):
		return nil, usage("the question has to be a text")
	case !legible(q):
		return nil, usage("nobody can see anything of the question: it has only invisible characters")
	case strings.ContainsAny(q, "\n\r\v\f\u0085\u2028\u2029"):
		return nil, usage("the question is one line; say more in --reason")
	case len(q) > 1024:
		return nil, usage("the question has %d bytes, at most 1024 are shown; say more in --reason", len(q))
	case len(c.Reason) > 2048 || !utf8.ValidString(c.Reason):
		return nil, usage("--reason is a text of at most 2048 bytes, not %d", len(c.Reason))
	case c.Timeout != nil && (*c.Timeout < time.Second || *c.Timeout > 720*time.Hour):
		return nil, usage("--timeout is from 1s to 720h")
	}
	if err := inText("--key", string(c.Key), 128); err != nil {
		return nil, err
	}
	req := &v1.RequestDecisionRequest{Key: string(c.Key), Title: shorten(q, 120, 480), AgentReason: c.Reason}
	if req.GetKey() == "" {
		req.Key = beckon.NewID()
	}
	if c.Timeout != nil {
		req.Timeout = durationpb.New(*c.Timeout)
	}
	item := &v1.DecisionItem{Id: "q", Question: q}
	req.Items = []*v1.DecisionItem{item}
	var err error
	if req.Kind, err = c.shape(item); err != nil {
		return nil, err
	}
	return req, c.judge(req, item)
}

// legible reports whether a person sees anything of a text.
func legible(text string) bool {
	_, hidden := screen.Text(text)
	return hidden < utf8.RuneCountInString(strings.Join(strings.Fields(text), ""))
}

// inText bounds a text of the contract in characters.
func inText(name, text string, most int) error {
	if n := utf8.RuneCountInString(text); n > most || !utf8.ValidString(text) {
		return usage("%s is a text of at most %d characters, not %d", name, most, n)
	}
	return nil
}

// judge computes what the server will, so that input it could not hash is
// refused here, by the flag it came from.
func (c askCommand) judge(req *v1.RequestDecisionRequest, item *v1.DecisionItem) error {
	asked := proof.AskedItem{
		ItemID: item.GetId(), Question: item.GetQuestion(), ResponseSchema: item.GetResponseSchemaJson(), URL: item.GetUrl(),
	}
	for _, o := range item.GetOptions() {
		asked.Options = append(asked.Options, proof.Option{ID: o.GetId(), Kind: word(o.GetKind())})
	}
	// An action leaves the question out of its digest, so it is looked at first.
	if _, err := proof.AskedDigest(word(req.GetKind()), []proof.AskedItem{asked}); err != nil {
		name := "the question"
		if in, ok := errors.AsType[*proof.InputError](err); ok && strings.Contains(in.Field, "options") {
			name = "--option"
		} else if ok && strings.Contains(in.Field, "response_schema") {
			name = "--form"
		} else if ok && strings.Contains(in.Field, "url") {
			name = "--open"
		}
		return usage("%s: %s", name, reasonWords(proof.ReasonOf(err)))
	}
	a := item.GetAction()
	if a == nil {
		return nil
	}
	_, err := proof.ActionDigest(a.GetApp(), a.GetConnection(), a.GetOperation(), a.GetArgsJson(), a.GetTargetJson())
	in, ok := errors.AsType[*proof.InputError](err)
	switch {
	case err == nil:
		return nil
	case ok && (in.Field == "args" || in.Field == "target"):
		kind := map[string]string{"args": "object", "target": "value"}[in.Field]
		return usage("--%s is not a JSON %s as Beckon takes it: %s (byte %d)", in.Field, kind, reasonWords(in.Reason), in.Offset)
	case ok:
		return usage("--%s: %s", in.Field, reasonWords(in.Reason))
	default:
		return usage("%v", err)
	}
}

// reasonWords is a sentence with the word that scripts and the contract have.
func reasonWords(r proof.Reason) string {
	if text := r.Sentence(); text != "" {
		return text + " (" + string(r) + ")"
	}
	return string(r)
}

// shape fills in how the question can be answered.
func (c askCommand) shape(item *v1.DecisionItem) (v1.DecisionKind, error) {
	const choose = v1.OptionKind_OPTION_KIND_CHOOSE
	switch {
	case c.Most > 1 && len(c.Option) == 0:
		return 0, usage("--most is for a choice: add --option for each answer")
	case c.App != "":
		return v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, c.action(item)
	case c.Operation != "" || c.Args != "" || c.Target != "" || c.Connection != "" || c.Class != -1 || c.Edit || c.ArgsSchema != "":
		return 0, usage("a question about an action needs --app, --operation and --args")
	case c.FreeText:
		return v1.DecisionKind_DECISION_KIND_TEXT, nil
	case c.Form != "":
		var err error
		item.ResponseSchemaJson, err = schemaFile("--form", c.Form)
		return v1.DecisionKind_DECISION_KIND_FORM, err
	case c.Open != "":
		item.Url = c.Open
		return v1.DecisionKind_DECISION_KIND_OPEN_URL, nil
	case len(c.Option) == 0:
		item.Options = []*v1.Option{
			{Id: "yes", Label: "Yes", Kind: choose, Text: v1.TextRule_TEXT_RULE_NONE},
			{Id: "no", Label: "No", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE, Text: v1.TextRule_TEXT_RULE_OPTIONAL},
		}
		return v1.DecisionKind_DECISION_KIND_CHOOSE, nil
	}
	if c.Most > 1 {
		item.Multi = &v1.MultiChoice{Min: 1, Max: uint32(min(c.Most, 8))}
	}
	return v1.DecisionKind_DECISION_KIND_CHOOSE, c.options(item)
}

// schemaFile reads the schema that a flag names.
func schemaFile(flag, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, usage("%s: %v", flag, err)
	case len(raw) == 0 || len(raw) > mostSchema:
		return nil, usage("%s has %d bytes, from 1 to %d are taken", flag, len(raw), mostSchema)
	}
	return raw, nil
}

// options reads what can be chosen.
func (c askCommand) options(item *v1.DecisionItem) error {
	seen := map[string]bool{}
	for _, option := range c.Option {
		id, label, found := strings.Cut(option, "=")
		if !found {
			label = id
		}
		switch {
		case id == "" || label == "" || utf8.RuneCountInString(id) > 64 || utf8.RuneCountInString(label) > 60 || !utf8.ValidString(option):
			return usage("--option is ID=LABEL, at most 64 and 60 characters: %q", option)
		case strings.ContainsFunc(id, notInID):
			return usage("--option: an id is one word, since it is what is typed and printed: %q", id)
		case seen[id]:
			return usage("--option: the id %q is there twice", id)
		}
		seen[id] = true
		item.Options = append(item.Options, &v1.Option{Id: id, Label: label, Kind: v1.OptionKind_OPTION_KIND_CHOOSE})
	}
	if n := len(item.GetOptions()); n < 2 || n > 8 {
		return usage("--option: a choice has 2 to 8 options, not %d", n)
	}
	return nil
}

func notInID(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }

func (c askCommand) action(item *v1.DecisionItem) error {
	switch {
	case c.Operation == "":
		return usage("what is done? add --operation")
	case c.Args == "":
		return usage("with which arguments? add --args '{…}', or '{}' for none")
	case len(c.Args) > mostArgs:
		return usage("--args has %d bytes, at most %d", len(c.Args), mostArgs)
	case len(c.Target) > mostTarget:
		return usage("--target has %d bytes, at most %d", len(c.Target), mostTarget)
	case c.Class < -1 || c.Class > 4:
		return usage("--class is from 0 to 4")
	}
	for _, text := range []struct {
		name, value string
		most        int
	}{{"--app", c.App, 64}, {"--connection", c.Connection, 128}, {"--operation", c.Operation, 128}} {
		if err := inText(text.name, text.value, text.most); err != nil {
			return err
		}
	}
	item.Action = &v1.Action{
		App: c.App, Connection: c.Connection, Operation: c.Operation, ArgsJson: []byte(c.Args), TargetJson: []byte(c.Target),
		EffectClass: v1.EffectClass(c.Class + 1),
	}
	if c.Edit || c.ArgsSchema != "" {
		item.Options = editable()
	}
	if c.ArgsSchema == "" {
		return nil
	}
	var err error
	item.Action.ArgsSchemaJson, err = schemaFile("--args-schema", c.ArgsSchema)
	return err
}

// editable is the ways to answer a question about an action that may be changed.
func editable() []*v1.Option {
	return []*v1.Option{
		{Id: "approve", Label: "Approve", Kind: v1.OptionKind_OPTION_KIND_ALLOW_ONCE},
		{Id: "edit", Label: "Approve with changes", Kind: v1.OptionKind_OPTION_KIND_EDIT},
		{Id: "deny", Label: "Deny", Kind: v1.OptionKind_OPTION_KIND_REJECT_ONCE, Text: v1.TextRule_TEXT_RULE_OPTIONAL},
	}
}
