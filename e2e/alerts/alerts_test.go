package alerts_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/e2e/alerts"
	"github.com/beckon-dev/beckon/e2e/alerts/oracle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rigs is how many stories are told at once.
const rigs = 2

// TestAlerts tells ALERTS_N stories from ALERTS_SEED on; a failure is told again,
// shorter. R20, R21, R22, and the badge of R26.
func TestAlerts(t *testing.T) {
	first, n := number(t, "ALERTS_SEED", 1), number(t, "ALERTS_N", 200)
	begun := time.Now()
	queue := make(chan uint64)
	var telling sync.WaitGroup
	var mu sync.Mutex
	seen := map[oracle.Kind]int{}
	for range rigs {
		rig := start(t)
		telling.Go(func() {
			for seed := range queue {
				steps := alerts.Tell(seed)
				told, findings, err := tell(t, rig, steps, nil)
				mu.Lock()
				for _, f := range told.Facts {
					seen[f.Kind]++
				}
				mu.Unlock()
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				} else if len(findings) > 0 {
					report(t, rig, seed, steps, findings)
				}
			}
		})
	}
	for seed := first; seed < first+n && !t.Failed(); seed++ {
		queue <- seed
	}
	close(queue)
	telling.Wait()
	t.Logf("%d stories from seed %d in %s: %v", n, first, time.Since(begun).Round(time.Second), seen)
	for _, kind := range []oracle.Kind{
		oracle.LoggedIn, oracle.Killed, oracle.Refused, oracle.Troubled, oracle.Offline, oracle.Dozed, oracle.Muted, oracle.Quit,
		oracle.Present, oracle.Restarted, oracle.Answered, oracle.TakenBack, oracle.Ended, oracle.Noted, oracle.Read,
		oracle.Unsure, oracle.Rang, oracle.Replaced, oracle.Lost, oracle.Gone,
	} {
		if n >= 200 && seen[kind] == 0 {
			t.Errorf("no story had %q: it is judged by nothing", kind)
		}
	}
}

func start(t *testing.T) *alerts.Rig {
	t.Helper()
	rig, err := alerts.Start(t.Context(), folder(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rig.Close)
	return rig
}

// folder is one whose syncs cost nothing, where the system has one.
func folder(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/dev/shm"); err != nil {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp("/dev/shm", "beckon-alerts-") //nolint:usetesting // t.TempDir cannot choose the medium
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// tell tells one story; mutate is nil for what is good as it is.
func tell(t *testing.T, rig *alerts.Rig, steps []alerts.Step, mutate func() alerts.Mutation) (alerts.Result, []oracle.Finding, error) {
	t.Helper()
	var m alerts.Mutation
	if mutate != nil {
		m = mutate()
	}
	told, err := rig.Run(t.Context(), steps, m)
	if err != nil {
		return told, nil, err
	}
	return told, oracle.Judge(told.Facts, told.Rows), nil
}

// report says what was found, in the shortest story that shows the like.
func report(t *testing.T, rig *alerts.Rig, seed uint64, steps []alerts.Step, findings []oracle.Finding) {
	t.Helper()
	rule := findings[0].Rule
	short := alerts.Shrink(steps, int(number(t, "ALERTS_TRIES", 250)), func(s []alerts.Step) bool {
		_, again, err := tell(t, rig, s, nil)
		return err == nil && len(again) > 0 && again[0].Rule == rule
	})
	told, again, err := tell(t, rig, short, nil)
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %v\nthe same, shorter (%v):\n%s", seed, findings[0], err, alerts.Text(short))
	for i, f := range told.Facts {
		fmt.Fprintf(&b, "#%d %s\n", i, f)
	}
	for _, r := range told.Rows {
		fmt.Fprintf(&b, "%+v\n", r)
	}
	for _, f := range again {
		fmt.Fprintf(&b, "%s\n", f)
	}
	fmt.Fprintf(&b, "again: ALERTS_SEED=%d ALERTS_N=1 go test -run TestAlerts ./e2e/alerts", seed)
	t.Error(b.String())
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
