//go:build failpoints

package failpoint_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/beckon-dev/beckon/server/failpoint"
)

// child is set in the process that is to die: this test binary run again.
const child = "BECKON_FAILPOINT_CHILD"

// TestMain turns the process into that child where it is asked to: it reaches
// "here" twice, and its parent looks at how it ended.
func TestMain(m *testing.M) {
	if os.Getenv(child) == "" {
		os.Exit(m.Run())
	}
	failpoint.Hit("elsewhere")
	failpoint.Hit("here")
	failpoint.Hit("here")
	fmt.Println("survived")
}

func TestHit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		env  string
		dies bool
	}{
		{env: "here", dies: true},
		{env: "here:2", dies: true},
		{env: "here:3", dies: false},
		{env: "nowhere", dies: false},
		{env: "", dies: false},
	} {
		t.Run("env_"+test.env, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			killed, out := runChild(t, test.env, mark)
			if killed != test.dies || bytes.Contains(out, []byte("survived")) == test.dies {
				t.Errorf("killed = %v, want %v; output: %s", killed, test.dies, out)
			}
			if _, err := os.Stat(mark); (err == nil) != test.dies {
				t.Errorf("mark: %v, want it only where the process died", err)
			}
		})
	}
}

func TestHit_UnreadableEnvironmentIsLoud(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"here:0", "here:x", "here:-1", ":1"} {
		killed, out := runChild(t, env, filepath.Join(t.TempDir(), "mark"))
		if killed || !bytes.Contains(out, []byte("is not name[:n]")) {
			t.Errorf("BECKON_FAILPOINT=%q: killed = %v, output %q; want a panic", env, killed, out)
		}
	}
}

// runChild runs the child and reports whether SIGKILL ended it.
func runChild(t *testing.T, env, mark string) (killed bool, output []byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), child+"=1", "BECKON_FAILPOINT="+env, "BECKON_FAILPOINT_MARK="+mark)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false, out
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL, out
}
