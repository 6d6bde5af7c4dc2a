package policy_test

import (
	"testing"

	"github.com/beckon-dev/beckon/server/policy"
	"github.com/beckon-dev/beckon/sync/decision"
)

// R16: only what reads in public goes without asking, and no class is class 3.
func TestByClass_Defaults(t *testing.T) {
	t.Parallel()
	for class, want := range map[decision.Class]policy.Verdict{
		decision.ReadPublic: policy.Allow, decision.ReadPrivate: policy.Ask, decision.WriteReversible: policy.Ask,
		decision.Outward: policy.Ask, decision.Irreversible: policy.Ask, 5: policy.Ask,
	} {
		if got := policy.ByClass(class); got != want {
			t.Errorf("class %d: %d, want %d", class, got, want)
		}
		if got := policy.ClassOf(decision.Action{Class: &class}); got != class {
			t.Errorf("class %d counts as %d", class, got)
		}
	}
	if got := policy.ClassOf(decision.Action{}); got != decision.Outward {
		t.Errorf("no class counts as %d", got)
	}
}
