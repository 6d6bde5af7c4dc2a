//go:build off

package sim_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestOff switches each rule off and wants to see that noticed within 2,000
// seeds. The switchboard reads the environment once, so each rule has a process
// of its own: this test binary again.
func TestOff(t *testing.T) {
	for rule, in := range map[string]string{
		"R1": "TestSimulation", "R2": "TestSimulation", "R3": "TestSimulation", "R10": "TestSimulation", "R12": "TestSimulation", "R13": "TestSimulation", "R21": "TestSimulation",
		"R14": "TestEffects", "R15": "TestEffects",
	} {
		t.Run(rule, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+in+"$", "-test.v")
			cmd.Env = append(os.Environ(), "OFF="+rule, "SIM_SEED=1", "SIM_N=2000")
			out, err := cmd.CombinedOutput()
			line, _, found := bytes.Cut(out[max(0, bytes.Index(out, []byte("OFF="))):], []byte("\n"))
			if err != nil || !found || !bytes.Contains(line, []byte("was caught at seed")) {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", line)
		})
	}
}

// TestOff_UnknownRule: a rule that switches nothing off is not caught.
func TestOff_UnknownRule(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSimulation$")
	cmd.Env = append(os.Environ(), "OFF=R99", "SIM_SEED=1", "SIM_N=5")
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("nothing was noticed")) {
		t.Fatalf("%v\n%s", err, out)
	}
}
