package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
)

// checkClocks keeps code that must repeat exactly away from the clock and from
// chance, and real sleeping out of everything: a loop waits on a timer and its
// context, a test on a fake clock.
func checkClocks(t *tree, rules Rules) []Finding {
	var found []Finding
	for _, f := range t.files {
		if f.generated {
			continue
		}
		local := localName(t.imports(f), "time")
		pure := matchesAny(rules.Clockless, f.dir) && !f.test
		bubble := localName(t.imports(f), "testing/synctest") != ""
		if pure {
			found = append(found, chance(t, f)...)
		}
		if local == "" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			name, ok := selected(n, local)
			switch {
			case !ok:
			case pure && slices.Contains([]string{"Now", "Since", "Until"}, name):
				found = append(found, Finding{"clock", f.path, t.line(n.Pos()), "time." + name + ": this code is told the time"})
			case name == "Sleep" && !bubble:
				found = append(found, Finding{"sleep", f.path, t.line(n.Pos()), "time.Sleep outside a synctest bubble"})
			}
			return true
		})
	}
	return found
}

// chance reports imports of random numbers that are no secrets.
func chance(t *tree, f *goFile) []Finding {
	var found []Finding
	for _, im := range t.imports(f) {
		if im.path == "math/rand" || im.path == "math/rand/v2" {
			found = append(found, Finding{"clock", f.path, im.line, im.path + ": chance is handed in"})
		}
	}
	return found
}

// localName gives the name under which a file knows an import, or nothing.
func localName(imports []imported, want string) string {
	for _, im := range imports {
		if im.path != want {
			continue
		}
		if im.name != "" {
			return im.name
		}
		return path.Base(want)
	}
	return ""
}

// selected gives X of an expression pkg.X.
func selected(n ast.Node, pkg string) (string, bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok || id.Name != pkg {
		return "", false
	}
	return sel.Sel.Name, true
}

// checkNoSync refuses the switches that let the embedded store answer before
// the disk has it. Setting one to false is refused too: nobody should have to
// read to the end of the line.
func checkNoSync(t *tree, _ Rules) []Finding {
	var found []Finding
	for _, f := range t.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && (id.Name == "NoSync" || id.Name == "NoFreelistSync") {
				found = append(found, Finding{"nosync", f.path, t.line(id.Pos()), fmt.Sprintf("%s: what was acknowledged has to survive a power cut", id.Name)})
			}
			return true
		})
	}
	return found
}
