package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/beckon-dev/beckon/clients/cmd/beckon/capture"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want string }{
		{"go test ./...", "go test ./..."},
		{" a\n\tb ", "a b"},
		{"a\xffb", "a\uFFFDb"},
		{strings.Repeat("x", 121), strings.Repeat("x", 119) + "…"},
		{strings.Repeat("x", 120), strings.Repeat("x", 120)},
		{strings.Repeat("👍", 120), strings.Repeat("👍", 120)},
	} {
		if got := shorten(test.in, 120, 480); got != test.want {
			t.Errorf("%q: got %q", test.in, got)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		got := shorten(rapid.String().Draw(r, "text"), 12, 20)
		if utf8.RuneCountInString(got) > 12 || len(got) > 20 || !utf8.ValidString(got) {
			r.Fatalf("%q", got)
		}
	})
}

// JSON says the same after a terminal was protected from it.
func TestASCIIJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		want := rapid.String().Draw(r, "text") + "\u202e\u009b\U000e0041\u200b"
		raw, err := json.Marshal(want)
		if err != nil {
			r.Fatal(err)
		}
		safe := asciiJSON(raw)
		if strings.ContainsAny(safe, "\u202e\u009b\U000e0041\u200b\x1b") {
			r.Fatalf("%q", safe)
		}
		var got string
		if err := json.Unmarshal([]byte(safe), &got); err != nil || got != want {
			r.Fatalf("%q became %q: %v", want, got, err)
		}
	})
}

// What the person reads of an end fits the contract, whatever was printed.
func TestTellFits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		log := capture.New(2000)
		for range rapid.IntRange(0, 40).Draw(r, "lines") {
			_, _ = log.Writer(capture.Stdout).Write(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(r, "line"))
		}
		run := &running{log: log}
		got := run.tell(outcome{text: "Exit status 3."}, 2000)
		if len(got) > 2000 || !utf8.ValidString(got) || !strings.HasPrefix(got, "Exit status 3.") {
			r.Fatalf("%d bytes: %q", len(got), got)
		}
		if _, omitted := log.Counts(); omitted > 0 && !strings.Contains(got, "were not kept") {
			r.Fatalf("silent about %d bytes: %q", omitted, got)
		}
	})
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	base := func(change func(*askCommand)) askCommand {
		c := askCommand{Question: "Go on?", Class: -1}
		change(&c)
		return c
	}
	action := func(change func(*askCommand)) askCommand {
		return base(func(c *askCommand) {
			c.App, c.Operation, c.Args = "mail", "send", "{}"
			change(c)
		})
	}
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		name string
		ask  askCommand
		kind v1.DecisionKind
		want string // options as id:kind, or the words of a refusal
	}{
		{"yes or no", base(func(*askCommand) {}), v1.DecisionKind_DECISION_KIND_CHOOSE, "yes:OPTION_KIND_CHOOSE no:OPTION_KIND_REJECT_ONCE"},
		{"text", base(func(c *askCommand) { c.FreeText = true }), v1.DecisionKind_DECISION_KIND_TEXT, ""},
		{"choice", base(func(c *askCommand) { c.Option = []string{"a=A=1", "b"} }), v1.DecisionKind_DECISION_KIND_CHOOSE, "a:OPTION_KIND_CHOOSE b:OPTION_KIND_CHOOSE"},
		{"action", base(func(c *askCommand) { c.App, c.Operation, c.Args, c.Class = "mail", "send", "{}", 3 }), v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, ""},
		{"empty", askCommand{Question: "  ", Class: -1}, 0, "has to be a text"},
		{"not a text", askCommand{Question: "a\xff", Class: -1}, 0, "has to be a text"},
		{"long", askCommand{Question: long, Class: -1}, 0, "1025 bytes"},
		{"long reason", base(func(c *askCommand) { c.Reason = long + long }), 0, "--reason"},
		{"one option", base(func(c *askCommand) { c.Option = []string{"a=A"} }), 0, "2 to 8"},
		{"nameless option", base(func(c *askCommand) { c.Option = []string{"=A", "b=B"} }), 0, "--option"},
		{"short timeout", base(func(c *askCommand) { c.Timeout = new(time.Millisecond) }), 0, "--timeout"},
		{"no time", base(func(c *askCommand) { c.Timeout = new(time.Duration) }), 0, "--timeout"},
		{"two lines", askCommand{Question: "a\nb", Class: -1}, 0, "one line"},
		{"no character", askCommand{Question: "a\ufffe", Class: -1}, 0, "no character (NONCHARACTER)"},
		{"nothing to see", askCommand{Question: "\u200b \u2060", Class: -1}, 0, "invisible"},
		{"several of nothing", base(func(c *askCommand) { c.Most = 2 }), 0, "--most is for a choice"},
		{"long key", base(func(c *askCommand) { c.Key = keyName(long[:129]) }), 0, "--key"},
		{"two of one id", base(func(c *askCommand) { c.Option = []string{"a=A", "a=B"} }), 0, `"a" is there twice`},
		{"two words", base(func(c *askCommand) { c.Option = []string{"a b=A", "c=C"} }), 0, "one word"},
		{"no character in an id", base(func(c *askCommand) { c.Option = []string{"a\ufffe=A", "c=C"} }), 0, "--option"},
		{"long label", base(func(c *askCommand) { c.Option = []string{"a=" + long[:61], "c=C"} }), 0, "--option"},
		{"many options", base(func(c *askCommand) { c.Option = strings.Split("abcdefghi", "") }), 0, "2 to 8"},
		{"broken arguments", action(func(c *askCommand) { c.Args = "{bad" }), 0, "--args is not a JSON object as Beckon takes it: it is not what JSON or a URL looks like here (SYNTAX)"},
		{"a list of arguments", action(func(c *askCommand) { c.Args = "[1]" }), 0, "--args is not a JSON object as Beckon takes it: it has to be a JSON object, as {…} (NOT_OBJECT)"},
		{"arguments twice", action(func(c *askCommand) { c.Args = `{"a":1,"a":2}` }), 0, "DUPLICATE_KEY"},
		{"many arguments", action(func(c *askCommand) { c.Args = `{"a":"` + strings.Repeat("x", 128<<10) + `"}` }), 0, "--args has"},
		{"broken target", action(func(c *askCommand) { c.Target = "{" }), 0, "--target"},
		{"long target", action(func(c *askCommand) { c.Target = `"` + strings.Repeat("x", 8<<10) + `"` }), 0, "--target has"},
		{"any target", action(func(c *askCommand) { c.Target = "[1]" }), v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION, ""},
		{"long app", action(func(c *askCommand) { c.App = long[:65] }), 0, "--app"},
		{"long connection", action(func(c *askCommand) { c.Connection = long[:129] }), 0, "--connection"},
		{"operation is no text", action(func(c *askCommand) { c.Operation = "a\xff" }), 0, "--operation"},
		{"class alone", base(func(c *askCommand) { c.Class = 2 }), 0, "--app"},
		{"class", base(func(c *askCommand) { c.App, c.Operation, c.Args, c.Class = "mail", "send", "{}", 5 }), 0, "--class"},
		{"no arguments", base(func(c *askCommand) { c.App, c.Operation = "mail", "send" }), 0, "--args"},
	} {
		req, err := test.ask.request()
		if e, ok := errors.AsType[exit](err); ok {
			if e.code != exitUsage || test.kind != 0 || !strings.Contains(e.text, test.want) {
				t.Errorf("%s: refused with %d %q", test.name, e.code, e.text)
			}
			continue
		}
		var options []string
		for _, o := range req.GetItems()[0].GetOptions() {
			options = append(options, o.GetId()+":"+o.GetKind().String())
		}
		if diff := cmp.Diff(test.want, strings.Join(options, " ")); diff != "" || req.GetKind() != test.kind || req.GetKey() == "" {
			t.Errorf("%s: %v\n%s", test.name, req, diff)
		}
	}
}

func TestWord(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		word(v1.DecisionState_DECISION_STATE_PENDING):           "pending",
		word(v1.AnswerOutcome_ANSWER_OUTCOME_NEEDS_STEP_UP):     "needs_step_up",
		word(v1.OptionKind_OPTION_KIND_REJECT_ONCE):             "reject_once",
		word(v1.Platform_PLATFORM_UNSPECIFIED):                  "",
		holdWord(v1.HoldKind_HOLD_KIND_NONE):                    "",
		word(v1.InstallationState_INSTALLATION_STATE_PROBATION): "probation",
		word(v1.StopOutcome_STOP_OUTCOME_ALREADY_FINISHED):      "already_finished",
		word(v1.Step_STEP_OTHER_DEVICE):                         "other_device",
		word(v1.ContentLevel_CONTENT_LEVEL_FULL):                "full",
		word(v1.ItemKind_ITEM_KIND_OUTPUT):                      "output",
		word(v1.DecisionKind_DECISION_KIND_CONFIRM_ACTION):      "confirm_action",
		taskWord("running", "stop"):                             "stopping",
		taskWord("ready", "pause"):                              "held: pause",
		taskWord("completed", "stop"):                           "completed",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
