package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// notBuilt is what stands instead of tests under a rule of which nothing
// exists yet.
const notBuilt = "not yet built"

var (
	promiseHead = regexp.MustCompile(`^\*\*R(\d+) `)
	quoted      = regexp.MustCompile("`([^`]*)`")
	testName    = regexp.MustCompile(`^(Test|Fuzz|Example)`)
)

// CheckPromises reads a page of rules, numbered from 1 to last and each with a
// line of the tests that break when it does, and reports a rule that is missing
// or has no such line, and a test that the tree below fsys does not have. An
// error means that the page or the tree could not be read.
func CheckPromises(fsys fs.FS, page string, last int, rules Rules) ([]Finding, error) {
	text, err := fs.ReadFile(fsys, page)
	if err != nil {
		return nil, fmt.Errorf("arch: %w", err)
	}
	t, err := load(fsys, rules.Skip)
	if err != nil {
		return nil, fmt.Errorf("arch: %w", err)
	}
	p := promises{page: page, tests: t.testNames()}
	lines := strings.Split(string(bytes.TrimSpace(text)), "\n")
	for i, line := range lines {
		head := promiseHead.FindStringSubmatch(line)
		if head == nil {
			continue
		}
		number, err := strconv.Atoi(head[1])
		if err != nil || number != p.rule+1 {
			p.reportf(i, "R%s follows R%d", head[1], p.rule)
		}
		p.rule = number
		below := ""
		if i+1 < len(lines) {
			below = lines[i+1]
		}
		p.check(i+1, below)
	}
	if p.rule != last {
		p.reportf(len(lines)-1, "the last rule is R%d, want R%d", p.rule, last)
	}
	return p.found, nil
}

// promises is the reading of one page.
type promises struct {
	page  string
	tests map[string]bool
	rule  int
	found []Finding
}

// check looks at the line that has to name the tests of a rule.
func (p *promises) check(at int, line string) {
	named, ok := strings.CutPrefix(line, "Test: ")
	if !ok {
		p.reportf(at, "R%d has no line of tests", p.rule)
		return
	}
	names := quoted.FindAllStringSubmatch(named, -1)
	if len(names) == 0 && named != notBuilt {
		p.reportf(at, "R%d names no test; of what does not exist say %q", p.rule, notBuilt)
	}
	for _, name := range names {
		if !p.tests[name[1]] {
			p.reportf(at, "R%d names %s, which is not in the tree", p.rule, name[1])
		}
	}
	for word := range strings.FieldsSeq(quoted.ReplaceAllString(named, "")) {
		if testName.MatchString(word) {
			p.reportf(at, "R%d: %s: a test is named as `folder.TestName`, with the quotes", p.rule, word)
		}
	}
}

func (p *promises) reportf(index int, format string, args ...any) {
	p.found = append(p.found, Finding{"promise", p.page, index + 1, fmt.Sprintf(format, args...)})
}

// testNames gives the tests of the tree, those of tagged files too, as
// folder.TestName.
func (t *tree) testNames() map[string]bool {
	names := map[string]bool{}
	for _, f := range t.files {
		if !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && testName.MatchString(fn.Name.Name) && fn.Name.Name != "TestMain" {
				names[path.Clean(f.dir)+"."+fn.Name.Name] = true
			}
		}
	}
	return names
}
