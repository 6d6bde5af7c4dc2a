//go:build off

package off_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/beckon-dev/beckon/sync/off"
)

// The environment is read once for the whole process, so each case asks in a
// process of its own: this test binary, told by BECKON_OFF_ASK what to ask.
func TestRule_ReadsTheEnvironmentOnce(t *testing.T) {
	if ask := os.Getenv("BECKON_OFF_ASK"); ask != "" {
		first := off.Rule(ask)
		t.Setenv("OFF", "something else")
		if off.Rule(ask) != first {
			t.Fatal("the answer changed with the environment")
		}
		t.Logf("answer=%v", first)
		return
	}
	for _, test := range []struct {
		env, ask, want string
	}{
		{env: "R7", ask: "R7", want: "answer=true"},
		{env: "R7", ask: "R8", want: "answer=false"},
		{env: "", ask: "R7", want: "answer=false"},
	} {
		t.Run(test.env+"_asked_"+test.ask, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRule_ReadsTheEnvironmentOnce$", "-test.v")
			cmd.Env = append(os.Environ(), "OFF="+test.env, "BECKON_OFF_ASK="+test.ask)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), test.want) {
				t.Errorf("OFF=%q: %v, output %s, want %s", test.env, err, out, test.want)
			}
		})
	}
}

func TestRule_EmptyNameIsNoRule(t *testing.T) {
	t.Parallel()
	if off.Rule("") {
		t.Error("the empty name counts as switched off")
	}
}
