package arch

import (
	"fmt"
	"path"
	"strings"
)

// checkImports holds each folder to its row of the import table.
func checkImports(t *tree, rules Rules) []Finding {
	var found []Finding
	reported := map[string]bool{}
	for _, f := range t.files {
		row, ok := rules.row(f.dir)
		if !ok {
			if !reported[f.dir] {
				reported[f.dir] = true
				found = append(found, Finding{"folder", f.dir, 0, "has no row in the import table of e2e/arch"})
			}
			continue
		}
		for _, im := range t.imports(f) {
			target, ours := rules.own(im.path)
			if !ours {
				continue
			}
			if text := rules.refuse(row, f, target); text != "" {
				found = append(found, Finding{"imports", f.path, im.line, text})
			}
		}
	}
	return found
}

// refuse says why f may not import target, or nothing where it may.
func (r Rules) refuse(row Row, f *goFile, target string) string {
	forTests := f.test || isTestSupport(f.dir) || matches("e2e/**", f.dir)
	switch {
	case target == f.dir:
		return "" // its own external tests
	case matches("e2e/**", target) && !matches("e2e/**", f.dir):
		return fmt.Sprintf("%s: nothing outside e2e imports e2e", target)
	case isTestSupport(target) && !forTests:
		return fmt.Sprintf("%s is for tests and e2e only", target)
	case matchesAny(row.Except, target):
		return fmt.Sprintf("%s is taken out of the row %s%s", target, row.Folder, because(row.Why))
	case matchesAny(row.Imports, target):
		return ""
	case f.test && (isTestSupport(target) || matchesAny(row.Tests, target) || matchesAny(r.TestSupport, target)):
		return ""
	}
	return fmt.Sprintf("%s is not in the row %s%s", target, row.Folder, because(row.Why))
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// isTestSupport reports whether the folder holds a package for tests, which
// its name says by ending in "test".
func isTestSupport(folder string) bool { return strings.HasSuffix(path.Base(folder), "test") }

// row finds the row of a folder.
func (r Rules) row(folder string) (Row, bool) {
	for _, row := range r.Rows {
		if matches(row.Folder, folder) {
			return row, true
		}
	}
	return Row{}, false
}

// own gives the folder of one of our own import paths.
func (r Rules) own(importPath string) (folder string, ok bool) {
	if importPath == r.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, r.Module+"/")
}

// checkThirdParty holds code of others, and parts of the standard library that
// are not for everyone, to the folders that need it.
func checkThirdParty(t *tree, rules Rules) []Finding {
	var found []Finding
	for _, f := range t.files {
		if f.generated {
			continue // what a generator imports is its own business
		}
		for _, im := range t.imports(f) {
			if text := rules.refuseForeign(f, im.path); text != "" {
				found = append(found, Finding{"third-party", f.path, im.line, text})
			}
		}
	}
	return found
}

func (r Rules) refuseForeign(f *goFile, importPath string) string {
	if _, ours := r.own(importPath); ours {
		return ""
	}
	edge, ok := r.edge(importPath)
	switch {
	case !ok && !strings.Contains(strings.SplitN(importPath, "/", 2)[0], "."):
		return "" // standard library
	case !ok:
		return importPath + " has no edge in e2e/arch: a new dependency needs one, with its reason"
	case matchesAny(edge.Folders, f.dir), f.test && matchesAny(edge.Tests, f.dir):
		return ""
	case isTestSupport(f.dir) && matchesAny(edge.Tests, f.dir):
		return ""
	}
	return importPath + " does not belong here" + because(edge.Why)
}

// edge finds the longest edge that covers the path.
func (r Rules) edge(importPath string) (best Edge, ok bool) {
	for _, e := range r.Edges {
		if importPath != e.Import && !strings.HasPrefix(importPath, e.Import+"/") {
			continue
		}
		if !ok || len(e.Import) > len(best.Import) {
			best, ok = e, true
		}
	}
	return best, ok
}
