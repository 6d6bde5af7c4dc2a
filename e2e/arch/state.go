package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// checkState refuses package variables that can change and func init. What may
// stand at package level is listed in variables.allow, each with its reason.
func checkState(t *tree, _ Rules) []Finding {
	var found []Finding
	elsewhere := writtenNames(t.files)
	for _, files := range t.packages() {
		names := variables{written: writtenNames(files), elsewhere: elsewhere, structs: structNames(files)}
		for _, f := range files {
			for _, decl := range f.ast.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						found = append(found, Finding{"init", f.path, t.line(d.Pos()), "func init runs before anybody can say how"})
					}
				case *ast.GenDecl:
					for _, name := range changeable(f, d, names) {
						found = append(found, Finding{"state", f.path, t.line(name.Pos()), "package variable " + name.Name + " can change; hand it in"})
					}
				}
			}
		}
	}
	return found
}

// variables is what has to be known about a package to judge one variable.
type variables struct {
	written   map[string]bool // names the package itself writes to
	elsewhere map[string]bool // "pkg.Name" that any file of the tree writes to
	structs   map[string]bool // struct types of the package
}

// changeable lists the variables of a declaration that no exception covers.
func changeable(f *goFile, d *ast.GenDecl, known variables) []*ast.Ident {
	if d.Tok != token.VAR {
		return nil
	}
	var names []*ast.Ident
	for _, spec := range d.Specs {
		s, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		for i, name := range s.Names {
			var value ast.Expr
			if i < len(s.Values) {
				value = s.Values[i]
			}
			embedded := hasEmbed(d.Doc) || hasEmbed(s.Doc)
			if !embedded && !known.allow(f, name.Name, value) {
				names = append(names, name)
			}
		}
	}
	return names
}

// allow holds the exceptions. Files of the test tags are not judged:
// they are in no build that serves anybody.
func (v variables) allow(f *goFile, name string, value ast.Expr) bool {
	switch {
	case f.tagged:
		return true
	case name == "_":
		return true // a compile-time assertion
	case v.written[name]:
		return false
	case strings.HasPrefix(strings.ToLower(name), "err") && isError(value):
		return true // callers compare with it
	case f.ast.Name.Name == "main" && name == "version":
		return true // set by the linker
	case ast.IsExported(name):
		// Others could write to it, so it is looked for in the whole tree, and
		// nothing that is shared when it is copied will do.
		return v.isValue(value) && !v.elsewhere[f.ast.Name.Name+"."+name]
	}
	return isTable(value) || isConstant(value) // Go has no constant of these kinds
}

// isValue reports whether a value is a literal of an array or of a struct of
// this package: a list of all states, or a constant of several fields.
func (v variables) isValue(value ast.Expr) bool {
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	switch typ := lit.Type.(type) {
	case *ast.ArrayType:
		return typ.Len != nil
	case *ast.Ident:
		return v.structs[typ.Name]
	}
	return false
}

// structNames lists the struct types that a package declares.
func structNames(files []*goFile) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, ok := spec.Type.(*ast.StructType); ok {
					names[spec.Name.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func hasEmbed(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// isError reports whether a value is an error made once: a call that makes
// one, or a literal of an error type.
func isError(value ast.Expr) bool {
	if u, ok := value.(*ast.UnaryExpr); ok && u.Op == token.AND {
		value = u.X
	}
	switch v := value.(type) {
	case *ast.CompositeLit:
		return true
	case *ast.CallExpr:
		fn := called(v)
		return fn == "errors.New" || fn == "fmt.Errorf"
	}
	return false
}

// isTable reports whether a value is a literal that nobody writes to (which
// writtenNames finds out), and no lock or counter in disguise.
func isTable(value ast.Expr) bool {
	lit, ok := value.(*ast.CompositeLit)
	if !ok {
		return false
	}
	sel, ok := lit.Type.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name != "sync" && pkg.Name != "atomic"
}

// isConstant reports whether a value comes from a maker of immutable values.
func isConstant(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return false
	}
	switch fn := call.Fun.(type) {
	case *ast.ArrayType:
		return true // []byte("name")
	case *ast.SelectorExpr:
		if fn.Sel.Name == "WithPadding" {
			return isConstant(fn.X)
		}
	}
	return slices.Contains([]string{
		"regexp.MustCompile", "netip.MustParseAddr", "netip.MustParsePrefix",
		"base32.NewEncoding", "base64.NewEncoding", "strings.NewReplacer",
		"time.Date", "template.Must",
	}, called(call))
}

// called gives "pkg.Func" for a call of that form.
func called(call *ast.CallExpr) string {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return pkg.Name + "." + sel.Sel.Name
}

// writtenNames lists every name that some statement of the files assigns to,
// deletes from or takes the address of, and "x.Name" where it stands behind a
// dot. A local variable of the same name counts too: a reader would stumble
// over it as well.
func writtenNames(files []*goFile) map[string]bool {
	written := map[string]bool{}
	note := func(e ast.Expr) {
		root, qualified := rootName(e)
		written[root], written[qualified] = true, true
	}
	for _, f := range files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch s := n.(type) {
			case *ast.AssignStmt:
				if s.Tok == token.DEFINE {
					return true
				}
				for _, left := range s.Lhs {
					note(left)
				}
			case *ast.IncDecStmt:
				note(s.X)
			case *ast.UnaryExpr:
				if s.Op == token.AND {
					note(s.X)
				}
			case *ast.CallExpr:
				if id, ok := s.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(s.Args) > 0 {
					note(s.Args[0])
				}
			}
			return true
		})
	}
	return written
}

// rootName gives x of x, x.f, x[i] and *x, and x.f where there is one.
func rootName(e ast.Expr) (root, qualified string) {
	for {
		switch v := e.(type) {
		case *ast.Ident:
			return v.Name, v.Name + qualified
		case *ast.SelectorExpr:
			e, qualified = v.X, "."+v.Sel.Name
		case *ast.IndexExpr:
			e = v.X
		case *ast.StarExpr:
			e = v.X
		case *ast.ParenExpr:
			e = v.X
		default:
			return "", ""
		}
	}
}
