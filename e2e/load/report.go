package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result is one row of the table. A zero is a number the row does not have.
type Result struct {
	What string
	// Rate is things a second; RateUnit names them.
	Rate float64
	// P50 and P99 are latencies.
	P50, P99 time.Duration
	// CPU is processor time of the server's process for each thing, Other that
	// of the emulator's.
	CPU, Other time.Duration
	// PerCommit is commands in one commit, Commits commits a second, and Syncs
	// what they cost the disk a second.
	PerCommit, Commits, Syncs float64
	RssAnonMB                 float64
	// PerGiB is how many fit into a GiB of the server's memory.
	PerGiB float64
}

// Median takes the middle of each number for itself. Rounds is not empty.
func Median(rounds []Result) Result {
	return Result{
		What: rounds[0].What,
		Rate: middleOf(rounds, func(r Result) float64 { return r.Rate }),
		P50:  middleOf(rounds, func(r Result) time.Duration { return r.P50 }),
		P99:  middleOf(rounds, func(r Result) time.Duration { return r.P99 }),
		CPU:  middleOf(rounds, func(r Result) time.Duration { return r.CPU }), Other: middleOf(rounds, func(r Result) time.Duration { return r.Other }),
		PerCommit: middleOf(rounds, func(r Result) float64 { return r.PerCommit }),
		Commits:   middleOf(rounds, func(r Result) float64 { return r.Commits }),
		Syncs:     middleOf(rounds, func(r Result) float64 { return r.Syncs }),
		RssAnonMB: middleOf(rounds, func(r Result) float64 { return r.RssAnonMB }),
		PerGiB:    middleOf(rounds, func(r Result) float64 { return r.PerGiB }),
	}
}

func middleOf[T any, N float64 | time.Duration](all []T, of func(T) N) N {
	numbers := make([]N, len(all))
	for i, one := range all {
		numbers[i] = of(one)
	}
	slices.Sort(numbers)
	return numbers[len(numbers)/2]
}

// Percentile is the least value that at least the given share of all values
// does not exceed (nearest rank); zero of nothing.
func Percentile(all []time.Duration, share float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	rank := int(share*float64(len(sorted)) + 0.999999)
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// WriteTable prints results as Markdown, as they stand in the README.
func WriteTable(w io.Writer, m Machine, rounds int, results []Result) error {
	var b strings.Builder
	b.WriteString("\n| what | a second | p50 | p99 | CPU each | CPU each, emulator | commands per commit | commits/s | fsyncs/s | RssAnon | per GiB |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.What,
			number(r.Rate, "%.0f"), millis(r.P50), millis(r.P99), micros(r.CPU), micros(r.Other),
			number(r.PerCommit, "%.1f"), number(r.Commits, "%.0f"), number(r.Syncs, "%.0f"), number(r.RssAnonMB, "%.0f MB"), number(r.PerGiB, "%.0f"))
	}
	b.WriteString("\nCPU and RssAnon are of the server's process; for answers and long polls it holds all clients as well, for streams none.\n")
	fmt.Fprintf(&b, "Medians of %d. %s.\n\n", rounds, m)
	_, err := io.WriteString(w, b.String())
	return err
}

func number(n float64, format string) string {
	if n == 0 {
		return "–"
	}
	return fmt.Sprintf(format, n)
}

func millis(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}

func micros(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
}
