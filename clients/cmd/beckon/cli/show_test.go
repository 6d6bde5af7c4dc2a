package cli

import (
	"testing"

	v1 "github.com/beckon-dev/beckon/proto/gen/beckon/v1"
)

// What a command printed is shown once, and nothing of a result is lost that
// the output does not say.
func TestWithoutEcho(t *testing.T) {
	t.Parallel()
	printed := func(text string) []*v1.Item {
		return []*v1.Item{{Parts: []*v1.Part{{Part: &v1.Part_Output{Output: &v1.Output{Data: []byte(text)}}}}}}
	}
	for name, c := range map[string]struct {
		body  string
		items []*v1.Item
		want  string
	}{
		"the last lines":      {"Exit status 0.\n\ntwo\nthree", printed("one\ntwo\nthree\n"), "Exit status 0."},
		"other words":         {"Found 3.\n\nSee below.", printed("one\ntwo\n"), "Found 3.\n\nSee below."},
		"the output not here": {"Exit status 0.\n\ntwo", nil, "Exit status 0.\n\ntwo"},
		"one paragraph":       {"two", printed("two\n"), "two"},
	} {
		if got := withoutEcho(c.body, c.items); got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A device that cannot be rung is marked, a terminal is none of those.
func TestReachWord(t *testing.T) {
	t.Parallel()
	for health, marked := range map[v1.PushHealth]bool{
		v1.PushHealth_PUSH_HEALTH_OK: false, v1.PushHealth_PUSH_HEALTH_DEAD: true,
		v1.PushHealth_PUSH_HEALTH_SUSPECT: true, v1.PushHealth_PUSH_HEALTH_NONE: true,
	} {
		phone := &v1.Installation{Platform: v1.Platform_PLATFORM_IOS, PushHealth: health}
		if got := reachWord(phone); (got != "") != marked {
			t.Errorf("%v: %q", health, got)
		}
		terminal := &v1.Installation{Platform: v1.Platform_PLATFORM_TERMINAL, PushHealth: health}
		if got := reachWord(terminal); got != "" {
			t.Errorf("a terminal, %v: %q", health, got)
		}
	}
}
