package arch

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
)

// Finding is one place where the tree breaks a rule.
type Finding struct {
	// Rule is the short name of what was broken, as in the fixtures.
	Rule string
	// Path is relative to the root of the tree, with slashes.
	Path string
	// Line is 0 where the finding is about a whole file or folder.
	Line int
	// Text says what is wrong and, where it is not obvious, what to do.
	Text string
}

// String gives the usual file:line: form that editors can jump to.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.Path, f.Rule, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.Path, f.Line, f.Rule, f.Text)
}

// Report is the answer of Check.
type Report struct {
	// Broken is empty for a tree that keeps the rules.
	Broken []Finding
	// Large lists files that are on their way to the size cap.
	Large []Finding
	// Files is the number of Go files looked at, so that a caller can tell a
	// clean tree from an empty one.
	Files int
}

// Check reads every source file of fsys and reports what breaks the rules, in
// the order of paths. An error means that the tree could not be read; a Go
// file that does not parse is such an error.
func Check(fsys fs.FS, rules Rules) (Report, error) {
	t, err := load(fsys, rules.Skip)
	if err != nil {
		return Report{}, fmt.Errorf("arch: %w", err)
	}
	r := Report{Files: len(t.files)}
	for _, check := range []func(*tree, Rules) []Finding{
		checkImports, checkThirdParty, checkPackageDocs, checkExportedDocs,
		checkNames, checkState, checkClocks, checkNoSync, checkWords,
	} {
		r.Broken = append(r.Broken, check(t, rules)...)
	}
	tooLong, long := checkSize(t, rules)
	r.Broken = append(r.Broken, tooLong...)
	r.Large = long
	slices.SortStableFunc(r.Broken, byPlace)
	slices.SortStableFunc(r.Large, byPlace)
	return r, nil
}

func byPlace(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
}
