package sim_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/e2e/sim"
	"github.com/beckon-dev/beckon/server/store"
	"github.com/beckon-dev/beckon/server/store/boltstore"
	"github.com/beckon-dev/beckon/server/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	steps = 180
	// onFile is how many seeds go by between two that also run on a file.
	onFile = 10
)

// TestSimulation runs SIM_N seeds from SIM_SEED on over the store in memory,
// and every tenth of them on bbolt as well: answers and content must be equal.
// With OFF=<rule>, in a build with the tag "off", it wants to see a seed fail.
func TestSimulation(t *testing.T) {
	first, n := number(t, "SIM_SEED", 1), number(t, "SIM_N", 300)
	r := &runs{t: t, next: first, end: first + n, visits: sim.Visits{}}
	rule := os.Getenv("OFF")
	if rule != "" {
		r.run(func(seed uint64) (sim.Report, error) { return sim.Run(t.Context(), inMemory(seed)) })
		if r.failure == nil {
			t.Fatalf("OFF=%s: nothing was noticed in %d seeds from %d on", rule, n, first)
		}
		fmt.Printf("OFF=%s was caught at seed %d: %s\n", rule, r.failedAt, r.failure)
		return
	}
	r.run(r.both)
	if r.failure != nil {
		t.Fatal(r.failure)
	}
	r.visits.Write(os.Stdout)
	if n >= 300 {
		r.visited(n)
	}
}

// inMemory is a run over the store in memory; a restart finds it as it was.
func inMemory(seed uint64) sim.Config {
	return sim.Config{Seed: seed, Steps: steps, Open: func() (store.Engine, error) { return memstore.New(), nil }}
}

// onBolt is a run over a bbolt file, which a restart closes and opens again.
func onBolt(dir string, seed uint64) sim.Config {
	open := func() (store.Engine, error) { return boltstore.Open(dir, boltstore.Options{}) }
	return sim.Config{Seed: seed, Steps: steps, Open: open, Reopen: func(e store.Engine) (store.Engine, error) {
		if err := e.Close(); err != nil {
			return nil, err
		}
		return open()
	}}
}

// runs is a range of seeds, taken one after the other by every core.
type runs struct {
	t *testing.T

	mu       sync.Mutex
	next     uint64
	end      uint64
	visits   sim.Visits
	failedAt uint64
	failure  error
}

// run stops at the first seed that fails.
func (r *runs) run(one func(seed uint64) (sim.Report, error)) {
	const cores = 2
	var group sync.WaitGroup
	for range cores {
		group.Go(func() {
			for seed, ok := r.take(); ok; seed, ok = r.take() {
				report, err := one(seed)
				r.put(seed, report, err)
			}
		})
	}
	group.Wait()
}

func (r *runs) take() (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seed := r.next
	r.next++
	return seed, r.failure == nil && seed < r.end
}

func (r *runs) put(seed uint64, report sim.Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.visits.Add(report.Visits)
	if err != nil && (r.failure == nil || seed < r.failedAt) {
		r.failedAt, r.failure = seed, err
	}
}

// both is one seed in memory and, where its turn has come, on a file.
func (r *runs) both(seed uint64) (sim.Report, error) {
	memory, err := sim.Run(r.t.Context(), inMemory(seed))
	if err != nil || seed%onFile != 0 {
		return memory, err
	}
	dir, err := memoryBacked(r.t)
	if err != nil {
		return memory, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is small, and t.TempDir is removed anyway
	file, err := sim.Run(r.t.Context(), onBolt(filepath.Join(dir, "data"), seed))
	if err != nil {
		return memory, fmt.Errorf("on bbolt: %w", err)
	}
	if at := firstDifference(memory.Trace, file.Trace); at != "" {
		return memory, fmt.Errorf("seed %d: answers differ between memory and bbolt: %s", seed, at)
	}
	if at := firstDifference(memory.Dump, file.Dump); at != "" {
		return memory, fmt.Errorf("seed %d: contents differ between memory and bbolt: %s", seed, at)
	}
	return memory, nil
}

// memoryBacked is a folder whose syncs cost nothing, where the system has one.
func memoryBacked(t *testing.T) (string, error) {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return os.MkdirTemp("/dev/shm", "beckon-sim-") //nolint:usetesting // t.TempDir cannot choose the medium
	}
	return t.TempDir(), nil
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  %s\n  %s", i, a[i], b[i])
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d lines and %d", len(a), len(b))
	}
	return ""
}

// visited: a generator that has stopped to reach a state would make every
// checker pass.
//
// The more seeds, the more each cell is asked for: 100 visits in 10,000.
func (r *runs) visited(seeds uint64) {
	r.t.Helper()
	least := 1
	if seeds >= 10_000 {
		least = int(seeds / 100)
	}
	live := []string{
		"READY", "READY/PAUSE", "RUNNING", "RUNNING/PAUSE", "RUNNING/STOP", "WAITING", "WAITING/PAUSE",
		"COMPLETED", "FAILED", "CANCELED", "EXPIRED",
	}
	commands := []string{
		"Heartbeat", "SaveCheckpoint", "AckSignals", "UpdateProgress", "AppendItems", "RequestDecision",
		"YieldTask", "ReleaseTask", "CompleteTask", "FailTask", "StopTask", "PauseTask", "ResumeTask",
		"SetTimer", "CancelTimer", "RevokeGrant", "SendMessage", "ClaimTask", "GetTask",
	}
	for _, command := range commands {
		for _, state := range live {
			if n := r.visits[sim.Cell{What: "task", State: state, Command: command}]; n < least {
				r.t.Errorf("%s met a task that was %s %d times, want %d", command, state, n, least)
			}
		}
	}
	for _, status := range []string{"PENDING", "PENDING/late", "RESOLVED", "EXPIRED", "CANCELED", "SUPERSEDED", "WITHDRAWN"} {
		for _, command := range []string{"AnswerDecision", "WithdrawDecision", "AmendDecision"} {
			if n := r.visits[sim.Cell{What: "decision", State: status, Command: command}]; n == 0 || n < least && command != "AmendDecision" {
				r.t.Errorf("%s met a decision that was %s %d times, want %d", command, status, n, least)
			}
		}
	}
	for _, status := range []string{"PENDING", "RESOLVED", "CANCELED"} {
		if r.visits[sim.Cell{What: "review", State: status, Command: "AnswerDecision"}] == 0 {
			r.t.Errorf("AnswerDecision never met the question about a result that was %s", status)
		}
	}
	for _, name := range []string{"draft", "form"} {
		for _, answer := range []string{"APPLIED", "SAME", "CONFLICT", "FIELD", "INVALID"} {
			if r.visits[sim.Cell{What: "written", State: name, Command: answer}] == 0 {
				r.t.Errorf("what was written on a card of kind %q was never answered %s", name, answer)
			}
		}
	}
	for command, answers := range wantedAnswers() {
		for _, answer := range answers {
			if r.visits[sim.Cell{What: "answer", State: answer, Command: command}] == 0 {
				r.t.Errorf("%s was never answered %s", command, answer)
			}
		}
	}
}

func wantedAnswers() map[string][]string {
	return map[string][]string{
		"AnswerDecision":  {"APPLIED", "SAME", "CONFLICT", "STALE", "EXPIRED", "CLOSED", "NEEDS_VIEW", "NEEDS_STEP_UP", "INVALID", "FIELD", "BAD_PROOF", "KILL_SWITCH"},
		"SetKillSwitch":   {"ok", "STEP_UP"},
		"RequestDecision": {"ok", "KEY_REUSED", "DENIED_BEFORE", "CEILING", "TASK_ENDED", "LEASE_LOST", "QUOTA", "FIELD", "KILL_SWITCH"},
		"YieldTask":       {"WAITING", "READY", "CANCELED", "EXPIRED", "LEASE_LOST", "EMPTY_WAIT", "CONFLICT", "FIELD"},
		"CompleteTask":    {"COMPLETED", "WAITING", "READY", "LEASE_LOST"},
		"SetTimer":        {"ok", "LEASE_LOST"},
		"RevokeGrant":     {"revoked", "ended"},
		"SaveCheckpoint":  {"ok", "CONFLICT", "LEASE_LOST"},
		"StopTask":        {"stopped", "stopping", "already", "NOT_FOUND", "KEY_REUSED"},
		"SendMessage":     {"READY", "RUNNING", "NO_AGENT"},
		"CreateTask":      {"READY", "RUNNING", "NOT_FOUND", "QUOTA", "FIELD"},
	}
}

// TestRun_OneSeedIsOneStory: what cannot be repeated cannot be repaired.
func TestRun_OneSeedIsOneStory(t *testing.T) {
	t.Parallel()
	one, err := sim.Run(t.Context(), inMemory(7))
	if err != nil {
		t.Fatal(err)
	}
	two, err := sim.Run(t.Context(), inMemory(7))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one.Trace, two.Trace) || !slices.Equal(one.Dump, two.Dump) {
		t.Error("the same seed told another story")
	}
	other, err := sim.Run(t.Context(), inMemory(8))
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(one.Trace, other.Trace) {
		t.Error("another seed told the same story")
	}
}

// TestRun_FailureNamesTheSeed: a failing run says how to repeat it.
func TestRun_FailureNamesTheSeed(t *testing.T) {
	t.Parallel()
	_, err := sim.Run(t.Context(), sim.Config{Seed: 9, Steps: steps, Open: func() (store.Engine, error) {
		return forgetful{memstore.New()}, nil
	}})
	var failure *sim.RuleError
	if !errors.As(err, &failure) || failure.Seed != 9 || failure.Step == 0 || len(failure.Tail) == 0 {
		t.Fatalf("a store that loses signals was met with %v", err)
	}
}

func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
