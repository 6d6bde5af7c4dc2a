//go:build !off

package off_test

import (
	"testing"

	"github.com/beckon-dev/beckon/sync/off"
)

func TestRule_NormalBuildIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("OFF", "R7")
	if off.Rule("R7") {
		t.Error("a normal build switched a rule off")
	}
}

func TestRule_NormalBuildCostsNothing(t *testing.T) {
	t.Setenv("OFF", "R7")
	n := testing.AllocsPerRun(100, func() { _ = off.Rule("R7") })
	if n != 0 {
		t.Errorf("Rule allocates %v times, want 0", n)
	}
}
