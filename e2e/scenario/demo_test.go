package scenario_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/e2e/stack"
)

// TestDemo runs what `make run AUTO=1` runs. Its judge is a program of its own:
// it says ok when the story happened, and must notice when it did not.
func TestDemo(t *testing.T) {
	t.Parallel()
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		env   []string
		holds bool
	}{
		{"the story", nil, true},
		{"a command that fails", []string{"FAIL=1"}, false},
		{"a phone that signs with a wrong key", []string{"FAULT=wrong-key"}, false},
		{"a phone that denies", []string{"TAP=deny"}, false},
		{"the phone that nobody was to touch", []string{"FINGER=pixel"}, false},
	} {
		demo := exec.CommandContext(t.Context(), "bash", ".ci/demo")
		demo.Dir = root
		demo.Env = append(demo.Environ(), append(tc.env, "AUTO=1", "NONCE=n-5c2b", "DEMO_DIR="+filepath.Join(t.TempDir(), "demo"))...)
		// It ends what it has started, which a kill would not let it do.
		demo.Cancel = func() error { return demo.Process.Signal(os.Interrupt) }
		demo.WaitDelay = 10 * time.Second
		out, err := demo.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		ok := strings.HasPrefix(lines[len(lines)-1], "ok:")
		if ok != tc.holds || (err == nil) != tc.holds {
			t.Errorf("%s: %v, the last of:\n%s", tc.name, err, out)
		}
	}
}
