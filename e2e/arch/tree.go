package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree is everything the checks look at, read once.
type tree struct {
	fset  *token.FileSet
	files []*goFile
	texts []textFile
}

// goFile is one parsed Go file.
type goFile struct {
	path, dir string
	ast       *ast.File
	test      bool // its name ends in _test.go
	generated bool // it says so in the form the go command knows
	tagged    bool // it is left out of a normal build by one of our test tags
}

// textFile is one file that people read, Go files included.
type textFile struct {
	path string
	data []byte
}

// imported is one import of a file.
type imported struct {
	path string
	name string // the local name where one is given
	line int
}

// load reads the tree below fsys. Folders named in skip are left out, wherever
// they are or, with a slash in front, at the root only. Go files below a testdata folder are read as text only, as the go
// command does.
func load(fsys fs.FS, skip []string) (*tree, error) {
	t := &tree{fset: token.NewFileSet()}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(skip, d.Name()) || slices.Contains(skip, "/"+p)):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return t.add(fsys, p)
	})
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return t, nil
}

func (t *tree) add(fsys fs.FS, p string) error {
	data, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil // not text
	}
	t.texts = append(t.texts, textFile{path: p, data: data})
	if path.Ext(p) != ".go" || slices.Contains(strings.Split(path.Dir(p), "/"), "testdata") {
		return nil
	}
	parsed, err := parser.ParseFile(t.fset, p, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	t.files = append(t.files, &goFile{
		path:      p,
		dir:       path.Dir(p),
		ast:       parsed,
		test:      strings.HasSuffix(p, "_test.go"),
		generated: ast.IsGenerated(parsed),
		tagged:    testTagged(parsed),
	})
	return nil
}

// testTagged reports whether a build without the tags off and failpoints
// leaves the file out, all other tags being set.
func testTagged(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue
			}
			return !expr.Eval(func(tag string) bool { return tag != "off" && tag != "failpoints" })
		}
	}
	return false
}

func (t *tree) line(at token.Pos) int { return t.fset.Position(at).Line }

// imports lists the imports of a file in order.
func (t *tree) imports(f *goFile) []imported {
	list := make([]imported, 0, len(f.ast.Imports))
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue // the parser has refused it already
		}
		one := imported{path: p, line: t.line(spec.Pos())}
		if spec.Name != nil {
			one.name = spec.Name.Name
		}
		list = append(list, one)
	}
	return list
}

// packages groups the files that belong to the package of each folder, without
// its tests and generated files. A walk passes sub-folders between two files of
// a folder, so neighbours in the list are not enough.
func (t *tree) packages() [][]*goFile {
	var all [][]*goFile
	at := map[string]int{}
	for _, f := range t.files {
		if f.test || f.generated {
			continue
		}
		i, seen := at[f.dir]
		if !seen {
			i = len(all)
			at[f.dir] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], f)
	}
	return all
}
