package effect_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/beckon-dev/beckon/sync/effect"
)

func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// docTable reads the table of the package doc: row → column → the words of the
// cell, without footnotes, sorted.
func docTable(t *testing.T) map[string]map[string][]string {
	t.Helper()
	table := map[string]map[string][]string{}
	var columns []string
	for line := range strings.Lines(parse(t, "doc.go").Doc.Text()) {
		cells := strings.Split(line, "|")
		for i, c := range cells {
			cells[i] = strings.TrimSpace(c)
		}
		switch {
		case len(cells) == 1:
		case columns == nil:
			columns = cells
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
	out := strings.Split(strings.TrimRight(cell, "¹²³⁴⁵⁶⁷"), " or ")
	slices.Sort(out)
	return out
}

// The doc's table says what the code does.
func TestDoc_TableIsTheCode(t *testing.T) {
	t.Parallel()
	got := map[string]map[string][]string{}
	for _, s := range states() {
		cells := map[string][]string{}
		for _, r := range rows() {
			if r.column == "" {
				continue
			}
			_, _, word := run(r, s)
			if !slices.Contains(cells[r.column], word) {
				cells[r.column] = append(cells[r.column], word)
				slices.Sort(cells[r.column])
			}
		}
		got[name(s)] = cells
	}
	if diff := cmp.Diff(docTable(t), got); diff != "" {
		t.Errorf("table of the package doc (-doc +code):\n%s", diff)
	}
}

// A state or a command that is added needs a row.
func TestTable_IsComplete(t *testing.T) {
	t.Parallel()
	seen, tabled := map[effect.Status]bool{}, map[string]bool{}
	for _, s := range states() {
		seen[s.Status] = true
	}
	for _, s := range effect.Statuses {
		if !seen[s] {
			t.Errorf("no row for %s", s)
		}
	}
	for _, r := range rows() {
		tabled[reflect.TypeOf(r.command).Name()] = true
	}
	declared := 0
	for _, d := range parse(t, "command.go").Decls {
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
