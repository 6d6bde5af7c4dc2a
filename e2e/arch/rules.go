package arch

import "strings"

// Rules is what a tree is judged by.
type Rules struct {
	// Module is the path in front of the tree's own imports.
	Module string
	// Skip names folders that are not part of the repository; with a slash in
	// front it means the one at the root only.
	Skip []string
	// Rows says which folder may import which other folder of the tree. The
	// first row that matches a folder counts; a folder without a row is broken.
	Rows []Row
	// TestSupport lists folders that test files of every row may import.
	TestSupport []string
	// Edges says where code of others may be used. Code without an edge may be
	// used nowhere, so a new dependency is a decision and not an accident.
	Edges []Edge
	// Clockless lists the folders whose code is told the time and never draws
	// a random number, so that one seed gives one run.
	Clockless []string
	// BannedNames are words that say nothing about what a package or a file
	// holds. MaxLines and WarnLines bound files written by hand.
	BannedNames         []string
	MaxLines, WarnLines int
	// BannedWords must stand in no file of the tree.
	BannedWords []string
}

// Row is one line of the import table. A pattern is a folder, a folder with
// "/*" for the folders directly in it, or one with "/**" for itself and all
// below.
type Row struct {
	Folder  string
	Imports []string
	// Tests may be imported by the test files of the folder as well.
	Tests []string
	// Except takes folders out of Imports and Tests again.
	Except []string
	Why    string
}

// Edge says where a package of somebody else, or a part of the standard
// library that is not for everyone, may be imported.
type Edge struct {
	// Import is a path; everything below it is meant too.
	Import  string
	Folders []string
	// Tests may use it in their test files only.
	Tests []string
	Why   string
}

// matches reports whether folder fits one pattern.
func matches(pattern, folder string) bool {
	if base, ok := strings.CutSuffix(pattern, "/**"); ok {
		return folder == base || strings.HasPrefix(folder, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		rest, below := strings.CutPrefix(folder, base+"/")
		return below && !strings.Contains(rest, "/")
	}
	return pattern == folder
}

func matchesAny(patterns []string, folder string) bool {
	for _, p := range patterns {
		if matches(p, folder) {
			return true
		}
	}
	return false
}
