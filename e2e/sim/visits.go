package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Cell is a command that met a state.
type Cell struct{ What, State, Command string }

// Visits count cells.
type Visits map[Cell]int

// visit counts a call before it is made.
func (w *world) visit(c call) {
	if c.decision != nil && c.decision.q.ofServer() {
		w.visits[Cell{"review", c.decision.state(w.now()), c.name}]++
		return
	}
	if c.decision != nil {
		w.visits[Cell{"decision", c.decision.state(w.now()), c.name}]++
		return
	}
	if c.task != nil {
		w.visits[Cell{"task", c.task.state(), c.name}]++
		return
	}
	w.visits[Cell{"other", "-", c.name}]++
}

// Add takes in the visits of another run.
func (v Visits) Add(other Visits) {
	for cell, n := range other {
		v[cell] += n
	}
}

// Write prints a table for each kind of thing: states across, commands down.
func (v Visits) Write(to io.Writer) {
	byWhat := map[string]map[string]bool{}
	commands := map[string]map[string]bool{}
	for cell := range v {
		if cell.What == answers {
			continue
		}
		if byWhat[cell.What] == nil {
			byWhat[cell.What], commands[cell.What] = map[string]bool{}, map[string]bool{}
		}
		byWhat[cell.What][cell.State] = true
		commands[cell.What][cell.Command] = true
	}
	for _, what := range slices.Sorted(maps.Keys(byWhat)) {
		states := slices.SortedFunc(maps.Keys(byWhat[what]), func(a, b string) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
		})
		fmt.Fprintf(to, "%-18s", what) //nolint:errcheck // a table for people
		for _, s := range states {
			fmt.Fprintf(to, " %13s", s) //nolint:errcheck // as above
		}
		fmt.Fprintln(to) //nolint:errcheck // as above
		for _, command := range slices.Sorted(maps.Keys(commands[what])) {
			fmt.Fprintf(to, "  %-16s", command) //nolint:errcheck // as above
			for _, s := range states {
				fmt.Fprintf(to, " %13d", v[Cell{what, s, command}]) //nolint:errcheck // as above
			}
			fmt.Fprintln(to) //nolint:errcheck // as above
		}
	}
	v.writeAnswers(to)
	v.writeRarest(to)
}

// writeRarest prints the cells of tasks and decisions that were met least, where
// a generator would first stop to reach something.
func (v Visits) writeRarest(to io.Writer) {
	const shown = 10
	var cells []Cell
	for cell := range v {
		if cell.What == "task" || cell.What == "decision" {
			cells = append(cells, cell)
		}
	}
	slices.SortFunc(cells, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(v[a], v[b]), strings.Compare(a.Command, b.Command), strings.Compare(a.State, b.State))
	})
	fmt.Fprintln(to, "met least") //nolint:errcheck // a table for people
	for _, cell := range cells[:min(shown, len(cells))] {
		fmt.Fprintf(to, "  %-16s %-13s %d\n", cell.Command, cell.State, v[cell]) //nolint:errcheck // as above
	}
}

// answers is the kind of cell that counts what commands were answered. It is
// printed as lists, for few commands share their answers.
const answers = "answer"

func (v Visits) writeAnswers(to io.Writer) {
	lines := map[string][]string{}
	for cell, n := range v {
		if cell.What == answers {
			lines[cell.Command] = append(lines[cell.Command], fmt.Sprintf("%s %d", cell.State, n))
		}
	}
	fmt.Fprintln(to, answers) //nolint:errcheck // a table for people
	for _, command := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[command])
		fmt.Fprintf(to, "  %-16s %s\n", command, strings.Join(lines[command], ", ")) //nolint:errcheck // as above
	}
}

// rank puts the states of a life in their order.
func rank(state string) int {
	order := []string{"READY", "READY/PAUSE", "RUNNING", "RUNNING/PAUSE", "RUNNING/STOP", "WAITING", "WAITING/PAUSE", "COMPLETED", "FAILED", "CANCELED", "EXPIRED", "PENDING", "PENDING/late", "RESOLVED"}
	if i := slices.Index(order, state); i >= 0 {
		return i
	}
	return len(order)
}
