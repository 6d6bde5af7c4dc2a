package load

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Contest is what both systems do under the same conditions.
type Contest struct {
	// Name is for choosing it, What for the table.
	Name, What string
	// Trials by shape, gorush's first. In every other round the order is turned
	// around.
	Trials []Trial
	rows   []row
}

// row compares the outcomes of two trials of a contest.
type row struct {
	what         string
	gorush, ours int
}

// Contests are those in the tables. The trials still need their programs.
func Contests(s Sizes) []Contest {
	var all []Contest
	for _, d := range Distances() {
		for _, vendors := range [][]string{{Apple}, {Google}, {Apple, Google}} {
			all = append(all, contest(s, d, vendors))
		}
	}
	all = append(all, Contest{
		Name: "killed", What: fmt.Sprintf("killed at %d/s, provider answers after 50 ms", s.Rate),
		Trials: []Trial{
			{System: Gorush, Shape: Killed, Vendors: []string{Apple}, Delay: 50 * time.Millisecond, Accounts: s.Accounts, Rate: s.Rate, Length: s.Length},
			{System: Beckond, Shape: Killed, Vendors: []string{Apple}, Delay: 50 * time.Millisecond, Accounts: s.Accounts, Rate: s.Rate, Length: s.Length},
		},
	})
	return all
}

// contest is one distance of one choice of vendors.
func contest(s Sizes, d Distance, vendors []string) Contest {
	short, ours, theirs := "near", s.Near, s.Near
	if d.Delay > 0 {
		short, ours, theirs = "far", s.Far, s.Gorush
	}
	trial := func(system string, shape Shape, n int) Trial {
		return Trial{System: system, Shape: shape, Vendors: vendors, Delay: d.Delay, Accounts: s.Accounts, Pushes: n}
	}
	name := strings.Join(vendors, " and ")
	return Contest{
		Name: short + "/" + strings.Join(vendors, "+"), What: name + ", " + d.Name,
		Trials: []Trial{
			trial(Gorush, Calls, theirs),
			trial(Gorush, Thousands, ours),
			trial(Beckond, Calls, ours),
			trial(Beckond, Backlog, ours),
		},
		rows: []row{
			{"a call for each push", 0, 2},
			{"a call for each push; Beckon out of a durable backlog", 0, 3},
			{"as many addresses in a call as it takes; Beckon out of a durable backlog, one person a push", 1, 3},
		},
	}
}

// Play runs every trial whose system has a program, in an order that turns
// around with each round; folder makes one for each. The outcomes stand in the
// order of Trials.
func (c Contest) Play(ctx context.Context, round int, programs map[string]string, folder func() string) ([]Outcome, error) {
	outcomes := make([]Outcome, len(c.Trials))
	for i := range c.Trials {
		if round%2 == 1 {
			i = len(c.Trials) - 1 - i
		}
		t := c.Trials[i]
		t.Binary, t.Folder = programs[t.System], folder()
		if t.Binary == "" {
			continue
		}
		var err error
		if outcomes[i], err = t.Run(ctx); err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}

// Score is a contest and what each round brought.
type Score struct {
	Contest

	Rounds [][]Outcome
}

// median is the middle of each number of a trial, and the sums of what was lost.
func (s Score) median(trial int) Outcome {
	var all []Outcome
	for _, r := range s.Rounds {
		all = append(all, r[trial])
	}
	out := Outcome{
		Rate:      middleOf(all, func(o Outcome) float64 { return o.Rate }),
		CPU:       middleOf(all, func(o Outcome) time.Duration { return o.CPU }),
		RssAnonMB: middleOf(all, func(o Outcome) float64 { return o.RssAnonMB }),
	}
	for _, o := range all {
		out.Acknowledged, out.Lost, out.Doubled = out.Acknowledged+o.Acknowledged, out.Lost+o.Lost, out.Doubled+o.Doubled
	}
	return out
}

// WriteScores prints the contests as Markdown. absent says why there is nothing
// of gorush, or is empty.
func WriteScores(w io.Writer, m Machine, absent string, scores []Score) error {
	var b, killed strings.Builder
	if absent != "" {
		fmt.Fprintf(&b, "\nSide by side with gorush %s: %s\n", GorushVersion, absent)
	}
	if len(scores) == 0 {
		_, err := io.WriteString(w, b.String()+"\n")
		return err
	}
	head := fmt.Sprintf("\n| pushes accepted, side by side with gorush %s | gorush a second | Beckon a second | ratio | CPU each, gorush | CPU each, Beckon | ratio | RssAnon, gorush | RssAnon, Beckon | ratio |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n", GorushVersion)
	rounds := 0
	for _, s := range scores {
		rounds = len(s.Rounds)
		for _, r := range s.rows {
			g, o := s.median(r.gorush), s.median(r.ours)
			fmt.Fprintf(&b, "%s| %s; %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", head, s.What, r.what,
				number(g.Rate, "%.0f"), number(o.Rate, "%.0f"), ratio(o.Rate, g.Rate),
				micros(g.CPU), micros(o.CPU), ratio(float64(o.CPU), float64(g.CPU)),
				number(g.RssAnonMB, "%.0f MB"), number(o.RssAnonMB, "%.0f MB"), ratio(o.RssAnonMB, g.RssAnonMB))
			head = ""
		}
		for i, t := range s.Trials {
			if o := s.median(i); t.Shape == Killed && o.Acknowledged > 0 {
				fmt.Fprintf(&killed, "| %s: %s | %d | %d | %.1f %% | %d |\n", s.What, t.System, o.Acknowledged, o.Lost, 100*float64(o.Lost)/float64(o.Acknowledged), o.Doubled)
			}
		}
	}
	if killed.Len() > 0 {
		fmt.Fprintf(&b, "\n| SIGKILL and a start on the same folder, all rounds | acknowledged | never pushed | lost | sent again, same identity |\n|---|---:|---:|---:|---:|\n%s", killed.String())
	}
	b.WriteString("\nA second is from the first to the last push accepted by the emulators' log. Ratios are Beckon over gorush. CPU and RssAnon (its peak) are of the server's process alone; the CPU of a backlog has the start of the server in it. Beckon stores each question, each push and each verdict with fsync before it counts; gorush queues in memory, which is its default, with two workers on two cores, the queue made longer so that it refuses nothing. It takes 1,000 addresses of iPhones in a call, 500 of Android phones. Callers, emulators and server share the machine and are on a network of their own.\n")
	fmt.Fprintf(&b, "Medians of %d, in alternating order. %s.\n\n", rounds, m)
	_, err := io.WriteString(w, b.String())
	return err
}

// ratio is how much of the second number the first is.
func ratio(of, to float64) string {
	if of == 0 || to == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f×", of/to)
}
