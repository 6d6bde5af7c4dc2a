package load_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/beckon-dev/beckon/e2e/load"
)

// TestMain is an emulator, a crowd or a stage where this program was started as
// one.
func TestMain(m *testing.M) {
	if phones := os.Getenv(load.ChildVariable); phones != "" {
		if err := child(phones); err != nil {
			fmt.Fprintln(os.Stderr, "emulator:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	for variable, run := range map[string]func(context.Context, io.Reader, io.Writer) error{
		load.CrowdVariable: load.Crowd, load.StageVariable: load.Stage, load.VendorsVariable: load.Vendors,
	} {
		if os.Getenv(variable) == "" {
			continue
		}
		if err := run(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", variable, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func child(phones string) error {
	n, err := strconv.Atoi(phones)
	if err != nil {
		return err
	}
	return load.Child(context.Background(), n, os.Stdin, os.Stdout)
}

// BenchmarkNumbers makes the table of the README, once for each round whatever
// the benchmark's own count.
func BenchmarkNumbers(b *testing.B) {
	sizes, err := load.SizesFromEnv()
	if err != nil {
		b.Fatal(err)
	}
	machine, err := load.ReadMachine(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var table []load.Result
	for _, c := range cases(sizes) {
		var rounds []load.Result
		b.Run(c.name, func(b *testing.B) {
			for len(rounds) < sizes.Rounds {
				r, err := c.run(b.Context(), b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				rounds = append(rounds, r)
			}
			r := load.Median(rounds)
			b.ReportMetric(r.Rate, "a-second")
			b.ReportMetric(r.PerCommit, "commands/commit")
			b.ReportMetric(r.Syncs, "fsyncs/s")
			b.ReportMetric(float64(r.P99.Microseconds()), "p99-µs")
		})
		if len(rounds) == sizes.Rounds {
			table = append(table, load.Median(rounds))
		}
	}
	if len(table) == 0 {
		return // none was chosen
	}
	if err := load.WriteTable(os.Stdout, machine, sizes.Rounds, table); err != nil {
		b.Fatal(err)
	}
}

// benchmark is one row.
type benchmark struct {
	name string
	run  func(ctx context.Context, folder string) (load.Result, error)
}

func cases(s load.Sizes) []benchmark {
	var all []benchmark
	for _, d := range load.Distances() {
		n := s.Near
		if d.Delay > 0 {
			n = s.Far
		}
		short := "near"
		if d.Delay > 0 {
			short = "far"
		}
		all = append(all, benchmark{"push/drain/" + short, func(ctx context.Context, folder string) (load.Result, error) {
			return load.Drain(ctx, folder, s, d, n)
		}}, benchmark{"push/steady/" + short, func(ctx context.Context, folder string) (load.Result, error) {
			return load.Steady(ctx, folder, s, d)
		}})
	}
	for _, a := range []load.Answers{
		{Waiting: 1, AtOnce: 1, Samples: 200},
		{Waiting: 100, Rate: 200, Samples: 500},
		{Waiting: 1000, Rate: 200, Samples: 1000},
		{Waiting: 100, AtOnce: 16, Samples: 1000},
		{Waiting: 1000, AtOnce: 64, Samples: 2000},
	} {
		all = append(all, benchmark{fmt.Sprintf("answer/%d/%d", a.Waiting, a.Rate), func(ctx context.Context, folder string) (load.Result, error) {
			return load.AnswerToClaim(ctx, folder, a)
		}})
	}
	for _, p := range []load.Pulls{
		{Accounts: 1, Clients: 1, Rate: 50, Changes: 200},
		{Accounts: 1000, Clients: 1, Rate: 200, Changes: 1000},
		{Accounts: 1, Clients: 1000, Rate: 2, Changes: 10},
	} {
		all = append(all, benchmark{fmt.Sprintf("pull/%d/%d", p.Accounts, p.Clients), func(ctx context.Context, folder string) (load.Result, error) {
			return load.CommitToPull(ctx, folder, p)
		}})
	}
	for _, d := range []load.Deltas{
		{Stored: 10_000, Changed: 20, Samples: 500},
		{Stored: s.Stored, Changed: 20, Samples: 500},
	} {
		all = append(all, benchmark{fmt.Sprintf("delta/%d", d.Stored), func(ctx context.Context, folder string) (load.Result, error) {
			return load.DeltaRead(ctx, folder, d)
		}})
	}
	for _, c := range []load.Screens{
		{Threads: 100, Questions: 15, Samples: 300},
		{Threads: 10_000, Questions: 15, Samples: 300},
	} {
		all = append(all, benchmark{fmt.Sprintf("screen/%d", c.Threads), func(ctx context.Context, folder string) (load.Result, error) {
			return load.FirstScreen(ctx, folder, c)
		}})
	}
	return append(all, watchCases(s)...)
}
