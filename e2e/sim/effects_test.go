package sim_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/beckon-dev/beckon/e2e/sim"
)

// TestEffects runs SIM_N seeds of agents that act on the outside. With
// OFF=<rule>, in a build with the tag "off", it wants to see a seed fail.
func TestEffects(t *testing.T) {
	first, n := number(t, "SIM_SEED", 1), number(t, "SIM_N", 300)
	r := &runs{t: t, next: first, end: first + n, visits: sim.Visits{}}
	r.run(func(seed uint64) (sim.Report, error) { return sim.RunEffects(t.Context(), inMemory(seed)) })
	if rule := os.Getenv("OFF"); rule != "" {
		if r.failure == nil {
			t.Fatalf("OFF=%s: nothing was noticed in %d seeds from %d on", rule, n, first)
		}
		fmt.Printf("OFF=%s was caught at seed %d: %s\n", rule, r.failedAt, r.failure)
		return
	}
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	if n < 300 {
		return
	}
	for _, state := range []string{"BEGUN", "CONFIRMED", "FAILED", "UNCERTAIN", "RESOLVED_BY_HUMAN"} {
		if r.visits[sim.Cell{What: "effect", State: state, Command: "step"}] == 0 {
			t.Errorf("no effect was ever %s", state)
		}
	}
}
