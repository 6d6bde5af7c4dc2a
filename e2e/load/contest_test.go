package load_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/beckon-dev/beckon/e2e/load"
)

// BenchmarkSideBySide makes the tables that compare with gorush. What is missing
// for that is said in their place.
func BenchmarkSideBySide(b *testing.B) {
	sizes, err := load.SizesFromEnv()
	if err != nil {
		b.Fatal(err)
	}
	machine, err := load.ReadMachine(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	programs, absent := programs(b)
	nowhere := false // no stage can be had
	var scores []load.Score
	for _, c := range load.Contests(sizes) {
		s := load.Score{Contest: c}
		b.Run(c.Name, func(b *testing.B) {
			for len(s.Rounds) < sizes.Rounds && !nowhere {
				round, err := c.Play(b.Context(), len(s.Rounds), programs, b.TempDir)
				if errors.Is(err, load.ErrAbsent) {
					absent, nowhere = err.Error(), true
					return
				}
				if err != nil {
					b.Fatal(err)
				}
				s.Rounds = append(s.Rounds, round)
				nothingLost(b, c, round)
			}
		})
		if len(s.Rounds) == sizes.Rounds {
			scores = append(scores, s)
		}
	}
	if len(scores) == 0 && !nowhere {
		return // none was chosen
	}
	if err := load.WriteScores(os.Stdout, machine, absent, scores); err != nil {
		b.Fatal(err)
	}
}

// programs builds both, or says why gorush cannot be had.
func programs(b *testing.B) (built map[string]string, absent string) {
	b.Helper()
	ours, err := load.BuildBeckond(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	built = map[string]string{load.Beckond: ours}
	built[load.Gorush], err = load.BuildGorush(b.Context())
	if errors.Is(err, load.ErrAbsent) {
		return built, err.Error()
	}
	if err != nil {
		b.Fatal(err)
	}
	return built, ""
}

// nothingLost holds Beckon to it that a kill loses no push it had acknowledged.
func nothingLost(b *testing.B, c load.Contest, round []load.Outcome) {
	b.Helper()
	for i, t := range c.Trials {
		if t.System == load.Beckond && round[i].Lost > 0 {
			b.Errorf("%s: %d of %d acknowledged questions never rang", c.What, round[i].Lost, round[i].Acknowledged)
		}
	}
}

// The middle of each round, ratios of Beckon over gorush, what was lost in all
// rounds together, and a reason where there is nothing of gorush.
func TestWriteScores(t *testing.T) {
	t.Parallel()
	all := load.Contests(load.Sizes{Near: 2000, Far: 1000, Gorush: 40, Accounts: 10, Rate: 500, Length: time.Second})
	drawn := load.Outcome{Rate: 3000, CPU: 200 * time.Microsecond, RssAnonMB: 20}
	slow := load.Outcome{Rate: 6000, CPU: 100 * time.Microsecond, RssAnonMB: 50}
	killed := func(lost int) load.Outcome { return load.Outcome{Acknowledged: 500, Lost: lost} }
	scores := []load.Score{
		{Contest: all[0], Rounds: [][]load.Outcome{{drawn, drawn, slow, slow}, {drawn, drawn, {}, {}}, {drawn, drawn, slow, slow}}},
		{Contest: all[len(all)-1], Rounds: [][]load.Outcome{{killed(400), killed(0)}, {killed(450), killed(0)}}},
	}
	var b bytes.Buffer
	if err := load.WriteScores(&b, load.Machine{}, "no network", scores); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| APNs, near; a call for each push | 3000 | 6000 | 2.00× | 200 µs | 100 µs | 0.50× | 20 MB | 50 MB | 2.50× |\n",
		"| killed at 500/s, provider answers after 50 ms: gorush | 1000 | 850 | 85.0 % | 0 |\n",
		"| killed at 500/s, provider answers after 50 ms: beckond | 1000 | 0 | 0.0 % | 0 |\n",
		"Side by side with gorush " + load.GorushVersion + ": no network\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Without root there is no trial, and the reason is said.
func TestTrial_NeedsAStage(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("this one has root")
	}
	if _, err := (load.Trial{}).Run(t.Context()); !errors.Is(err, load.ErrAbsent) {
		t.Error(err)
	}
}
