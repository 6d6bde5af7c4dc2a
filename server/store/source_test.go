package store_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// declared collects from the source of this package what pick finds in it, so
// that tests over all codecs and tables know what all is.
func declared(t *testing.T, pick func(ast.Node) (string, bool)) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, ok := pick(n); ok {
				out = append(out, name)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}

// declaredCodecs lists the types named …Codec.
func declaredCodecs(t *testing.T) []string {
	t.Helper()
	return declared(t, func(n ast.Node) (string, bool) {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return "", false
		}
		return spec.Name.Name, strings.HasSuffix(spec.Name.Name, "Codec")
	})
}

// declaredTables lists the values of the constants named tab….
func declaredTables(t *testing.T) []string {
	t.Helper()
	return declared(t, func(n ast.Node) (string, bool) {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "tab") || len(spec.Values) != 1 {
			return "", false
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return "", false
		}
		name, err := strconv.Unquote(lit.Value)
		return name, err == nil
	})
}
