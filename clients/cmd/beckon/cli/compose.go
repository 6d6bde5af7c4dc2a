package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// compose makes the answers to all items of a decision from what was typed, or
// says what is wrong with it.
func (c answerCommand) compose(s *session, d *v1.Decision) ([]*v1.AnswerItem, error) {
	chosen, err := c.chosen(d)
	if err != nil {
		return nil, err
	}
	var out []*v1.AnswerItem
	for _, it := range d.GetItems() {
		options := chosen[it.GetId()]
		if len(options) == 0 {
			return nil, usage("%s has no answer: add %s=OPTION, one of %s", oneLine(it.GetId()), oneLine(it.GetId()), optionIDs(it))
		}
		a := &v1.AnswerItem{ItemId: it.GetId()}
		for _, o := range options {
			a.OptionIds = append(a.OptionIds, o.GetId())
		}
		if err := c.fill(s, d, it, options, a); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// chosen finds the options by item: an id or a number as they are listed, with
// ITEM= before it where there are several items.
func (c answerCommand) chosen(d *v1.Decision) (map[string][]*v1.Option, error) {
	out := map[string][]*v1.Option{}
	for _, typed := range c.Option {
		it, name, err := itemNamed(d, typed)
		if err != nil {
			return nil, err
		}
		o := optionNamed(it, name)
		if o == nil {
			return nil, usage("the question has no such option: %q; it has: %s", name, optionIDs(it))
		}
		out[it.GetId()] = append(out[it.GetId()], o)
	}
	return out, nil
}

func itemNamed(d *v1.Decision, typed string) (*v1.DecisionItem, string, error) {
	if len(d.GetItems()) == 1 {
		return d.GetItems()[0], typed, nil
	}
	id, name, _ := strings.Cut(typed, "=")
	for _, it := range d.GetItems() {
		if it.GetId() == id {
			return it, name, nil
		}
	}
	return nil, "", usage("there are %d questions, and each needs its own answer: ITEM=OPTION for each of %s", len(d.GetItems()), itemIDs(d))
}

func optionNamed(it *v1.DecisionItem, name string) *v1.Option {
	for _, o := range it.GetOptions() {
		if o.GetId() == name {
			return o
		}
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(it.GetOptions()) {
		return it.GetOptions()[n-1]
	}
	return nil
}

// fill adds what the chosen options take beside them.
func (c answerCommand) fill(s *session, d *v1.Decision, it *v1.DecisionItem, options []*v1.Option, a *v1.AnswerItem) error {
	for _, o := range options {
		rule := o.GetText()
		words := rule == v1.TextRule_TEXT_RULE_REQUIRED || rule == v1.TextRule_TEXT_RULE_OPTIONAL
		text := c.Text
		if text == "" && rule == v1.TextRule_TEXT_RULE_REQUIRED {
			text = o.GetPrefill()
		}
		switch {
		case !utf8.ValidString(text):
			return usage("--text is not UTF-8")
		case len(text) > 4096:
			return usage("--text has %d bytes, at most 4096", len(text))
		case text == "" && rule == v1.TextRule_TEXT_RULE_REQUIRED:
			return usage("%s needs your words: add --text '…'", oneLine(o.GetId()))
		case c.Text != "" && !words && len(d.GetItems()) == 1:
			return usage("%s takes no --text", oneLine(o.GetId()))
		case words:
			a.Text = text
		}
	}
	var err error
	edits := options[0].GetKind() == v1.OptionKind_OPTION_KIND_EDIT
	submits := d.GetKind() == v1.DecisionKind_DECISION_KIND_FORM && options[0].GetKind() == v1.OptionKind_OPTION_KIND_RESPOND
	switch {
	case edits:
		a.EditedArgsJson, err = c.edited(s, it)
	case submits:
		a.ContentJson, err = c.content(s, it)
	case len(d.GetItems()) > 1:
	case c.Args != "":
		err = usage("%s takes no --args", oneLine(options[0].GetId()))
	case len(c.Set) > 0 || c.Content != "":
		err = usage("%s takes no --set or --content", oneLine(options[0].GetId()))
	}
	return err
}

// edited is the arguments as the person wants them: from a file, or out of their
// editor.
func (c answerCommand) edited(s *session, it *v1.DecisionItem) ([]byte, error) {
	if c.Args != "" {
		return s.readFile(c.Args, "--args")
	}
	if !term.IsTerminal(int(s.in.Fd())) {
		return nil, usage("an edit needs the whole arguments: add --args FILE, or - for standard input")
	}
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return nil, usage("an edit needs the whole arguments: add --args FILE, or set EDITOR")
	}
	return edit(s, editor, it.GetAction().GetArgsJson())
}

// edit lets the person change a JSON object in a file of their own.
func edit(s *session, editor string, args []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "beckon-edit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var text bytes.Buffer
	if json.Indent(&text, args, "", "  ") != nil {
		text.Reset()
		text.Write(args)
	}
	path := filepath.Join(dir, "args.json")
	if err := os.WriteFile(path, append(text.Bytes(), '\n'), 0o600); err != nil {
		return nil, err
	}
	// As other programs do, the name may have arguments; the path is one word.
	cmd := exec.CommandContext(s.ctx, "sh", "-c", editor+` "$1"`, "sh", path) //nolint:gosec // the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.in, s.out, s.err
	if err := cmd.Run(); err != nil {
		return nil, exit{exitNo, "nothing was answered: the editor ended with " + err.Error()}
	}
	raw, err := os.ReadFile(path)
	return bytes.TrimSpace(raw), err
}

// content is a filled-in form: a file as it is, or a member for each --set and
// the defaults for the rest.
func (c answerCommand) content(s *session, it *v1.DecisionItem) ([]byte, error) {
	switch {
	case c.Content != "":
		return s.readFile(c.Content, "--content")
	case it.GetForm().GetWebOnly():
		return nil, usage("this form is more than a terminal can draw: use the web, or add --content FILE with the whole JSON object")
	}
	members := map[string]json.RawMessage{}
	for _, f := range it.GetForm().GetFields() {
		if raw := f.GetDefaultJson(); len(raw) > 0 {
			members[f.GetName()] = raw
		}
	}
	for _, set := range c.Set {
		name, value, ok := strings.Cut(set, "=")
		f := fieldNamed(it, name)
		if !ok || f == nil {
			return nil, usage("--set is NAME=VALUE, with one of the names %s: %q", fieldNames(it), set)
		}
		raw, err := fieldValue(f, value)
		if err != nil {
			return nil, err
		}
		if wrong := boundsOf(it.GetResponseSchemaJson(), name).refuses(f, raw); wrong != "" {
			return nil, usage("--set %s: %s, not %q", oneLine(name), wrong, value)
		}
		members[name] = raw
	}
	for _, f := range it.GetForm().GetFields() {
		if _, ok := members[f.GetName()]; f.GetRequired() && !ok {
			return nil, usage("%s has to be filled in: add --set %s=…", oneLine(f.GetName()), oneLine(f.GetName()))
		}
	}
	return json.Marshal(members)
}

func fieldNamed(it *v1.DecisionItem, name string) *v1.FormField {
	for _, f := range it.GetForm().GetFields() {
		if f.GetName() == name {
			return f
		}
	}
	return nil
}

func fieldNames(it *v1.DecisionItem) string {
	var names []string
	for _, f := range it.GetForm().GetFields() {
		names = append(names, oneLine(f.GetName()))
	}
	return strings.Join(names, ", ")
}

// fieldValue is what was typed as the JSON of the field's type. Several choices
// are separated by commas.
func fieldValue(f *v1.FormField, value string) (json.RawMessage, error) {
	wrong := func(kind string) (json.RawMessage, error) {
		return nil, usage("--set %s: %s is wanted, not %q", oneLine(f.GetName()), kind, value)
	}
	switch f.GetType() {
	case v1.FieldType_FIELD_TYPE_NUMBER, v1.FieldType_FIELD_TYPE_INTEGER:
		var n json.Number
		if json.Unmarshal([]byte(value), &n) != nil || strings.HasPrefix(value, `"`) {
			return wrong("a number")
		}
		return json.RawMessage(value), nil
	case v1.FieldType_FIELD_TYPE_BOOLEAN:
		switch strings.ToLower(value) {
		case "true", "yes", "y":
			return json.RawMessage("true"), nil
		case "false", "no", "n":
			return json.RawMessage("false"), nil
		}
		return wrong("yes or no")
	case v1.FieldType_FIELD_TYPE_CHOICES:
		return json.Marshal(strings.Split(value, ","))
	default:
		return json.Marshal(value)
	}
}

// readFile reads what a flag names; "-" is standard input.
func (s *session) readFile(path, flag string) ([]byte, error) {
	var raw []byte
	var err error
	if path == "-" {
		raw, err = io.ReadAll(io.LimitReader(s.in, mostArgs+1))
	} else {
		raw, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		return nil, usage("%s: %v", flag, err)
	case len(raw) > mostArgs:
		return nil, usage("%s has more than %d bytes", flag, mostArgs)
	}
	return bytes.TrimSpace(raw), nil
}

func optionIDs(it *v1.DecisionItem) string {
	var ids []string
	for _, o := range it.GetOptions() {
		ids = append(ids, o.GetId())
	}
	return strings.Join(ids, ", ")
}

func itemIDs(d *v1.Decision) string {
	var ids []string
	for _, it := range d.GetItems() {
		ids = append(ids, oneLine(it.GetId()))
	}
	return strings.Join(ids, ", ")
}
