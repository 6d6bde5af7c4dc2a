package task_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/task"
)

// docTable reads the table of the package doc whose first column has this name:
// row → column → the words of the cell, without footnotes, sorted.
func docTable(t *testing.T, name string) map[string]map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string][]string{}
	var columns []string
	for line := range strings.Lines(file.Doc.Text()) {
		cells := strings.Split(line, "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		switch {
		case len(cells) == 1:
			columns = nil
		case columns == nil:
			columns = cells
		case columns[0] != name:
		case len(cells) != len(columns):
			t.Fatalf("row with %d cells under %d columns: %s", len(cells), len(columns), line)
		default:
			table[cells[0]] = map[string][]string{}
			for i, c := range cells[1:] {
				table[cells[0]][columns[i+1]] = words(c)
			}
		}
	}
	return table
}

// words are the outcomes that a cell lists.
func words(cell string) []string {
	cell = strings.NewReplacer(" or ", " ", ",", " ", "¹", "", "²", "", "³", "", "⁴", "", "⁵", "", "⁶", "").Replace(cell)
	out := strings.Fields(cell)
	slices.Sort(out)
	return out
}

// The doc's table says what the code does when nothing holds the task.
func TestDoc_TableIsTheCode(t *testing.T) {
	t.Parallel()
	got := map[string]map[string][]string{}
	for _, p := range task.Phases {
		name := p.String()
		if p.Terminal() {
			name = "terminal"
		}
		if got[name] == nil {
			got[name] = map[string][]string{}
		}
		for _, r := range rows() {
			if r.column == "" {
				continue
			}
			s := at(p, task.HoldNone)
			if r.given != nil {
				r.given(&s)
			}
			events, err := task.Decide(s, r.command, now)
			word := outcome(s, task.ApplyAll(s, events, now), events, err)
			if strings.Contains(word, "+") {
				word = "hold"
			}
			if cell := got[name][r.column]; !slices.Contains(cell, word) {
				cell = append(cell, word)
				slices.Sort(cell)
				got[name][r.column] = cell
			}
		}
	}
	if diff := cmp.Diff(docTable(t, "phase"), got); diff != "" {
		t.Errorf("table of the package doc (-doc +code):\n%s", diff)
	}
}

// The doc's table of holds says what the code does.
func TestDoc_HoldsAreTheCode(t *testing.T) {
	t.Parallel()
	got := map[string]map[string][]string{}
	for _, h := range task.Holds {
		cells := map[string][]string{}
		for _, r := range rows() {
			switch r.command.(type) {
			case task.Pause, task.Resume, task.Review, task.Clear, task.Stop:
			default:
				continue
			}
			s := at(task.Running, h)
			if r.given != nil {
				r.given(&s)
			}
			events, err := task.Decide(s, r.command, now)
			word := outcome(s, task.ApplyAll(s, events, now), events, err)
			word = strings.TrimPrefix(word, task.Running.String()+"+")
			column := reflect.TypeOf(r.command).Name()
			if !slices.Contains(cells[column], word) {
				cells[column] = append(cells[column], word)
				slices.Sort(cells[column])
			}
		}
		got[h.String()] = cells
	}
	if diff := cmp.Diff(docTable(t, "hold"), got); diff != "" {
		t.Errorf("table of holds in the package doc (-doc +code):\n%s", diff)
	}
}

// The doc's table of delays says what the code does: it grows, and stops growing.
func TestDoc_DelaysAreTheCode(t *testing.T) {
	t.Parallel()
	table := docTable(t, "lost in a row")
	for n := 1; n <= 6; n++ {
		got := table[strconv.Itoa(n)]["tried again after"]
		if want := task.RetryDelay(n).String(); len(got) != 1 || got[0] != want {
			t.Errorf("after %d lost leases the doc says %v, the code %s", n, got, want)
		}
		if task.RetryDelay(n) < task.RetryDelay(n-1) {
			t.Errorf("after %d lost leases the next try comes sooner", n)
		}
	}
	if len(table) != 6 || task.RetryDelay(100) != task.RetryDelay(6) {
		t.Errorf("%d rows, and %s in the end", len(table), task.RetryDelay(100))
	}
}

// A command that is added needs a row.
func TestTable_NamesEveryCommand(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "command.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	tabled := map[string]bool{}
	for _, r := range rows() {
		tabled[reflect.TypeOf(r.command).Name()] = true
	}
	declared := 0
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != "command" {
			continue
		}
		declared++
		if name := f.Recv.List[0].Type.(*ast.Ident).Name; !tabled[name] {
			t.Errorf("no row for %s", name)
		}
	}
	if declared != len(tabled) {
		t.Errorf("%d commands declared, %d in the table", declared, len(tabled))
	}
}
