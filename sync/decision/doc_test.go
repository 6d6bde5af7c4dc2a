package decision_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
)

func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// docTable reads the table of the package doc: row → column → cell.
func docTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	table := map[string]map[string]string{}
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
			table[cells[0]] = map[string]string{}
			for i, c := range cells[1:] {
				table[cells[0]][columns[i+1]] = c
			}
		}
	}
	return table
}

// A command that is added needs a row.
func TestTable_NamesEveryCommand(t *testing.T) {
	t.Parallel()
	tabled := map[string]bool{}
	for _, r := range rows() {
		tabled[reflect.TypeOf(r.command).Name()] = true
	}
	declared := 0
	for _, d := range append(parse(t, "decide.go").Decls, parse(t, "attention.go").Decls...) {
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
