package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// checkPackageDocs wants one file of each package, and only one, to say what
// the package is for.
func checkPackageDocs(t *tree, _ Rules) []Finding {
	var found []Finding
	for _, files := range t.packages() {
		var with []*goFile
		for _, f := range files {
			if strings.TrimSpace(f.ast.Doc.Text()) != "" {
				with = append(with, f)
			}
		}
		name := files[0].ast.Name.Name
		switch {
		case len(with) == 0:
			found = append(found, Finding{"package-doc", files[0].dir, 0, "no file has a package comment"})
		case len(with) > 1:
			for _, f := range with[1:] {
				found = append(found, Finding{"package-doc", f.path, t.line(f.ast.Package), "second package comment; the first is in " + with[0].path})
			}
		case name != "main" && !strings.HasPrefix(with[0].ast.Doc.Text(), "Package "+name+" "):
			found = append(found, Finding{"package-doc", with[0].path, t.line(with[0].ast.Package), fmt.Sprintf("package comment does not begin with %q", "Package "+name)})
		}
	}
	return found
}

// checkExportedDocs wants a comment on every exported name.
func checkExportedDocs(t *tree, _ Rules) []Finding {
	var found []Finding
	for _, files := range t.packages() {
		for _, f := range files {
			for _, decl := range f.ast.Decls {
				for _, name := range undocumented(decl) {
					found = append(found, Finding{"exported-doc", f.path, t.line(name.Pos()), name.Name + " is exported and has no comment"})
				}
			}
		}
	}
	return found
}

// undocumented lists the exported names of a declaration that lack a comment.
func undocumented(decl ast.Decl) []*ast.Ident {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Doc == nil && d.Name.IsExported() && reachable(d.Recv) {
			return []*ast.Ident{d.Name}
		}
	case *ast.GenDecl:
		if d.Doc != nil || d.Tok == token.IMPORT {
			return nil // the comment of a group speaks for its members
		}
		var names []*ast.Ident
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(spec)...)
		}
		return names
	}
	return nil
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	var names []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			names = append(names, s.Name)
		}
	case *ast.ValueSpec:
		if s.Doc != nil || s.Comment != nil {
			return nil
		}
		for _, n := range s.Names {
			if n.IsExported() {
				names = append(names, n)
			}
		}
	}
	return names
}

// reachable reports whether a method can be called from outside, which needs
// an exported receiver type; a plain function always can.
func reachable(recv *ast.FieldList) bool {
	if recv == nil || len(recv.List) == 0 {
		return true
	}
	name := ""
	ast.Inspect(recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return ast.IsExported(name)
}
