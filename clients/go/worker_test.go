package beckon_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	beckon "github.com/beckon-dev/beckon/clients/go"
	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// one runs a handler on the one task of a home, to its end.
func one(t *testing.T, w beckon.Worker, handle func(context.Context, *beckon.Task) error) *home {
	t.Helper()
	home, ctx := newHome()
	t.Cleanup(home.close)
	w.Agent = home.agent
	if err := w.Run(ctx, handle); err != nil {
		t.Fatal(err)
	}
	return home
}

// The ten lines of the README are those of the example, which is run.
func TestReadme_IsTheExample(t *testing.T) {
	t.Parallel()
	readme := must(os.ReadFile("../../README.md"))(t)
	example := must(os.ReadFile("example_worker_test.go"))(t)
	shown := regexp.MustCompile("(?s)## Build an agent\n.*?```go\n(.*?)```").FindSubmatch(readme)
	run := regexp.MustCompile(`(?s)func ExampleWorker\(\) \{.*?\n(\terr := .*?\n\t\}\))\n`).FindSubmatch(example)
	if shown == nil || run == nil {
		t.Fatal("one of them is missing")
	}
	want := strings.ReplaceAll("\n"+string(run[1]), "\n\t", "\n")[1:] + "\n"
	if string(shown[1]) != want {
		t.Errorf("README.md shows\n%s\nand the example is\n%s", shown[1], want)
	}
	if n := bytes.Count(shown[1], []byte("\n")); n > 10 {
		t.Errorf("%d lines", n)
	}
}

// A key that is missing, too long, reserved or used twice is said before
// anything is asked, set or done.
func TestKeys_Refused(t *testing.T) {
	t.Parallel()
	action := &v1.Action{App: "files", Operation: "write", ArgsJson: []byte(`{}`)}
	never := func(context.Context, beckon.Go) (string, error) { return "", errors.New("it was run") }
	ask := func(ctx context.Context, task *beckon.Task, key string) error {
		_, err := task.Ask(ctx, beckon.AskAction(key, "Write?", action, false))
		return err
	}
	for name, call := range map[string]func(context.Context, *beckon.Task) error{
		"ask, none":      func(ctx context.Context, task *beckon.Task) error { return ask(ctx, task, "") },
		"ask, long":      func(ctx context.Context, task *beckon.Task) error { return ask(ctx, task, strings.Repeat("k", 129)) },
		"sleep, none":    func(ctx context.Context, task *beckon.Task) error { return task.Sleep(ctx, "", time.Hour) },
		"sleep, ours":    func(ctx context.Context, task *beckon.Task) error { return task.Sleep(ctx, "beckon/retry", time.Hour) },
		"wait, for none": func(ctx context.Context, task *beckon.Task) error { _, err := task.WaitAny(ctx); return err },
		"effect, none": func(ctx context.Context, task *beckon.Task) error {
			_, err := task.Effect(ctx, beckon.AskAction("", "Write?", action, false), never)
			return err
		},
		"effect by, none": func(ctx context.Context, task *beckon.Task) error {
			_, err := task.EffectBy(ctx, "", &v1.Grant{Id: "grt"}, never)
			return err
		},
		"step, twice": func(ctx context.Context, task *beckon.Task) error {
			step := func(context.Context) (int, error) { return 1, nil }
			if _, err := beckon.Step(ctx, task, "load", step); err != nil {
				return err
			}
			_, err := beckon.Step(ctx, task, "load", step)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got error
			h := one(t, beckon.Worker{}, func(ctx context.Context, task *beckon.Task) error {
				got = call(ctx, task)
				return got
			})
			if _, ok := errors.AsType[*beckon.KeyError](got); !ok || h.failed.GetCode() != "handler_error" {
				t.Errorf("%v, and the task failed as %v", got, h.failed)
			}
			if len(h.decisions)+len(h.timers)+len(h.effects) != 0 {
				t.Error("something was done")
			}
		})
	}
}

// A step that returns something else than it did is no silent zero.
func TestStep_OfAnotherType(t *testing.T) {
	t.Parallel()
	runs := 0
	var got error
	one(t, beckon.Worker{Patience: -1}, func(ctx context.Context, task *beckon.Task) error {
		runs++
		if runs == 1 {
			_, err := beckon.Step(ctx, task, "load", func(context.Context) (string, error) { return "text", nil })
			return errors.Join(err, task.Sleep(ctx, "rest", time.Hour))
		}
		_, got = beckon.Step(ctx, task, "load", func(context.Context) (int, error) { return 1, nil })
		return got
	})
	if e, ok := errors.AsType[*beckon.KeyError](got); !ok || e.Key != "load" {
		t.Error(got)
	}
}

// Nothing is stored by a handler that stores nothing.
func TestYield_WithoutAState(t *testing.T) {
	t.Parallel()
	h := one(t, beckon.Worker{Patience: -1}, func(ctx context.Context, task *beckon.Task) error {
		return task.Sleep(ctx, "rest", time.Hour)
	})
	if len(h.yields) != 1 || h.yields[0].GetCheckpoint() != nil {
		t.Errorf("yielded %v", h.yields)
	}
}

// A worker whose key is not good any more ends with the reason.
func TestRun_RefusedForGood(t *testing.T) {
	t.Parallel()
	f := newFake()
	opts := f.serve(t, "h2c")
	agent := must(beckon.NewAgent(beckon.KeyFile{Key: "not_good_at_all"}, opts))(t)
	defer agent.Close()
	err := beckon.Worker{Agent: agent}.Run(t.Context(), func(context.Context, *beckon.Task) error { return nil })
	if beckon.ReasonOf(err) != "BAD_TOKEN" {
		t.Error(err)
	}
}
