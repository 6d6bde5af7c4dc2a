package arch

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// checkNames refuses words that say nothing, and package names that hide a
// package of the standard library in every file that needs both.
func checkNames(t *tree, rules Rules) []Finding {
	var found []Finding
	dirs := map[string]bool{}
	for _, f := range t.files {
		if f.generated {
			continue
		}
		stem := strings.TrimSuffix(path.Base(f.path), ".go")
		if word, bad := bannedWord(rules.BannedNames, strings.Split(stem, "_")); bad {
			found = append(found, Finding{"name", f.path, 0, fmt.Sprintf("%q says nothing about what the file holds", word)})
		}
		if dirs[f.dir] || f.test {
			continue
		}
		dirs[f.dir] = true
		if word, bad := bannedWord(rules.BannedNames, []string{path.Base(f.dir), f.ast.Name.Name}); bad {
			found = append(found, Finding{"name", f.dir, 0, fmt.Sprintf("%q says nothing about what the package holds", word)})
		}
		if slices.Contains(hidesStandard(), f.ast.Name.Name) {
			found = append(found, Finding{"name", f.dir, 0, fmt.Sprintf("package %s hides the one of the standard library", f.ast.Name.Name)})
		}
	}
	return found
}

// bannedWord finds a part that is a banned word or ends in one.
func bannedWord(banned, parts []string) (string, bool) {
	for _, part := range parts {
		for _, word := range banned {
			if strings.HasSuffix(part, word) || strings.HasSuffix(part, word+"s") {
				return word, true
			}
		}
	}
	return "", false
}

// hidesStandard lists the names a reader takes for the standard library.
func hidesStandard() []string {
	return []string{"bytes", "context", "crypto", "errors", "fmt", "http", "io", "json", "log", "net", "os", "path", "slices", "sort", "strings", "sync", "testing", "time"}
}

// checkSize bounds files written by hand. It gives those over the cap and those
// on their way to it.
func checkSize(t *tree, rules Rules) (tooLong, long []Finding) {
	generated := map[string]bool{}
	for _, f := range t.files {
		generated[f.path] = f.generated
	}
	for _, text := range t.texts {
		if generated[text.path] || !handWritten(text.path) {
			continue
		}
		lines := bytes.Count(text.data, []byte("\n"))
		f := Finding{"size", text.path, 0, fmt.Sprintf("%d lines; the cap is %d", lines, rules.MaxLines)}
		switch {
		case lines > rules.MaxLines:
			tooLong = append(tooLong, f)
		case lines > rules.WarnLines:
			long = append(long, f)
		}
	}
	return tooLong, long
}

// handWritten reports whether a file holds code that people write: data,
// prose, lock files and generated folders are not counted.
func handWritten(p string) bool {
	parts := strings.Split(path.Dir(p), "/")
	if slices.Contains(parts, "gen") || slices.Contains(parts, "testdata") {
		return false
	}
	code := []string{".go", ".proto", ".ts", ".tsx", ".js", ".mjs", ".css", ".py", ".kt", ".swift", ".sh", ".sql"}
	return slices.Contains(code, path.Ext(p)) || strings.HasPrefix(p, ".ci/")
}

// checkWords refuses words that must stand in no file, generated ones included.
func checkWords(t *tree, rules Rules) []Finding {
	var found []Finding
	for _, text := range t.texts {
		for _, word := range rules.BannedWords {
			at := bytes.Index(bytes.ToLower(text.data), []byte(strings.ToLower(word)))
			if at < 0 {
				continue
			}
			line := 1 + bytes.Count(text.data[:at], []byte("\n"))
			found = append(found, Finding{"words", text.path, line, fmt.Sprintf("%q names something outside this repository", word)})
		}
	}
	return found
}
