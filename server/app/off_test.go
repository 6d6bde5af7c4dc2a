//go:build off

package app_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestOff_Restores switches the rules about restores off and wants to see that
// noticed. The switchboard reads the environment once, so each rule has a
// process of its own: this test binary again.
func TestOff_Restores(t *testing.T) {
	t.Parallel()
	for rule, in := range map[string]string{"R25": "TestSync_ViewEqualsAFreshReadAfterRestores", "R28": "TestAfterRestore_R28_"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+in)
			cmd.Env = append(os.Environ(), "OFF="+rule)
			if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("--- FAIL: "+in)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
