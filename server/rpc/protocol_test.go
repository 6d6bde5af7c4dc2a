package rpc_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProtocolPage holds the reasons that the protocol page lists against the
// code: the table against errors.go, the words of broken rules against what
// looks at fields.
func TestProtocolPage(t *testing.T) {
	t.Parallel()
	rows, words := protocolReasons(t)
	table := reasonsIn(t, "errors.go")
	if diff := cmp.Diff(table, slices.Compact(sorted(flat(rows)))); diff != "" {
		t.Errorf("reasons of errors.go (-) and of the table on the page (+):\n%s", diff)
	}
	fields := reasonsIn(t, "convert*.go", "validation.go", "../policy/*.go", "../app/*.go", "../../sync/decision/*.go", "../../sync/proof/*.go")
	fields = slices.DeleteFunc(fields, func(word string) bool { return slices.Contains(table, word) })
	if diff := cmp.Diff(fields, words); diff != "" {
		t.Errorf("words of the code that is about fields (-) and of the page (+):\n%s", diff)
	}
	for name, want := range refusals() {
		inTable := slices.Contains(rows[want.code], want.reason)
		if !inTable && (want.code != "invalid_argument" || !slices.Contains(words, want.reason)) {
			t.Errorf("%s: the page does not list %s under %s", name, want.reason, want.code)
		}
	}
}

// protocolReasons reads the table of reasons by code, and the list of words
// below it.
func protocolReasons(t *testing.T) (rows map[string][]string, words []string) {
	t.Helper()
	text, err := os.ReadFile("../../proto/PROTOCOL.md")
	check(t, err)
	_, section, _ := strings.Cut(string(text), "\n## 2. Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted := regexp.MustCompile("`([^`]+)`")
	inQuotes := func(s string) (list []string) {
		for _, m := range quoted.FindAllStringSubmatch(s, -1) {
			list = append(list, m[1])
		}
		return list
	}
	rows = map[string][]string{}
	for line := range strings.SplitSeq(section, "\n") {
		if list, ok := strings.CutPrefix(line, "Words of a rule that a field broke, all `invalid_argument`: "); ok {
			words = inQuotes(list)
		}
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for _, code := range inQuotes(cells[1]) {
				rows[code] = inQuotes(cells[2])
			}
		}
	}
	if len(rows) == 0 || len(words) == 0 {
		t.Fatal("the page has no table of reasons, or no list of words")
	}
	return rows, words
}

// reasonsIn lists the reasons that the files give: constants named reason…,
// members called reason, and the first argument of decision's own invalid.
func reasonsIn(t *testing.T, patterns ...string) []string {
	t.Helper()
	var found []string
	add := func(e ast.Expr) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		word, err := strconv.Unquote(lit.Value)
		check(t, err)
		if word == strings.ToUpper(word) {
			found = append(found, word)
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			if strings.HasPrefix(strings.ToLower(n.Names[0].Name), "reason") && len(n.Values) == 1 {
				add(n.Values[0])
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && strings.EqualFold(key.Name, "reason") {
				add(n.Value)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Name == "invalid" && len(n.Args) > 0 {
				add(n.Args[0])
			}
		}
		return true
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		check(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			check(t, err)
			ast.Inspect(file, visit)
		}
	}
	return slices.Compact(sorted(found))
}

func flat(rows map[string][]string) (all []string) {
	for _, list := range rows {
		all = append(all, list...)
	}
	return all
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
