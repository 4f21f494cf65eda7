package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Opening a pipe blocks until another process opens its other end. The program therefore opens files
// that others made or named through pkg/file/regular, which refuses pipes or waits for a limited time.

// opensItself lists the folders and files that may open files without pkg/file/regular, and why.
var opensItself = map[string]string{
	"pkg/file/regular":            "it opens files for the others",
	"pkg/file/durable/durable.go": "it opens folders to sync them",
	"pkg/registrytest":            "it is for tests",
	"mirror/mirrortest":           "it is for tests",
	"pkg/platform/releasetest":     "it is for tests",
	"cmd/demo":                    "it opens files that it wrote",
}

// opened are functions that open a file at a path.
var opened = map[string][]string{
	"os":  {"Open", "OpenFile", "ReadFile", "DirFS", "CopyFS"},
	"tls": {"LoadX509KeyPair"},
}

// openedBelow are the methods of os.Root that open a file, or pass on how.
var openedBelow = []string{"Open", "OpenFile", "ReadFile", "FS"}

// lists are functions of io/fs that open folders only.
var lists = []string{"ReadDir", "Glob", "WalkDir", "Stat", "Lstat"}

func TestFilesAreOpenedByRegular(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	var parsed []*ast.File
	unused := map[string]bool{}
	for dir := range opensItself {
		unused[dir] = true
	}
	top := filepath.Join("..", "..")
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		delete(unused, rel)
		switch {
		case d.IsDir() && (opensItself[rel] != "" || d.Name() == "testdata" || rel != "." && (strings.HasPrefix(d.Name(), ".") || hasModule(name))):
			return fs.SkipDir
		case d.IsDir() || opensItself[rel] != "" || path.Ext(rel) != ".go" || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		parsed = append(parsed, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range unused {
		t.Errorf("there is no %s", dir)
	}
	for _, problem := range findOpens(files, parsed) {
		t.Error(problem)
	}
}

// hasModule reports whether a folder has a module of its own.
func hasModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// findOpens returns a line for each call that opens a file. The calls of methods are found by the names
// of variables and fields that are an os.Root somewhere in the files.
func findOpens(files *token.FileSet, parsed []*ast.File) []string {
	roots := map[string]bool{}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool { addRoots(roots, n); return true })
	}
	var problems []string
	for _, file := range parsed {
		listing := map[ast.Node]bool{} // arguments of functions that list folders
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := selector.Sel.Name
			of, isName := selector.X.(*ast.Ident)
			switch {
			case isName && of.Name == "fs" && slices.Contains(lists, name) && len(call.Args) > 0:
				listing[call.Args[0]] = true
			case slices.ContainsFunc(call.Args, isExclusive): // a new file
			case isName && slices.Contains(opened[of.Name], name):
				problems = append(problems, fmt.Sprintf("%s: %s.%s", files.Position(n.Pos()), of.Name, name))
			case slices.Contains(openedBelow, name) && roots[lastName(selector.X)] && !listing[n]:
				problems = append(problems, fmt.Sprintf("%s: %s of an os.Root", files.Position(n.Pos()), name))
			}
			return true
		})
	}
	for i := range problems {
		problems[i] += " can block at a pipe: use package regular"
	}
	return problems
}

// isExclusive reports whether the flags of a call create a new file.
func isExclusive(flags ast.Expr) (found bool) {
	ast.Inspect(flags, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		found = found || ok && s.Sel.Name == "O_EXCL"
		return true
	})
	return found
}

// addRoots adds the names that a node declares as an os.Root, or a slice of them.
func addRoots(roots map[string]bool, n ast.Node) {
	switch n := n.(type) {
	case *ast.Field:
		if isRoot(n.Type) {
			for _, name := range n.Names {
				roots[name.Name] = true
			}
		}
	case *ast.ValueSpec:
		if n.Type != nil && isRoot(n.Type) {
			for _, name := range n.Names {
				roots[name.Name] = true
			}
		}
	case *ast.AssignStmt:
		call, ok := n.Rhs[0].(*ast.CallExpr)
		if !ok {
			return
		}
		if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "OpenRoot" {
			roots[lastName(n.Lhs[0])] = true
		}
	}
}

func isRoot(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ArrayType:
		return isRoot(t.Elt)
	case *ast.StarExpr:
		s, ok := t.X.(*ast.SelectorExpr)
		return ok && s.Sel.Name == "Root" && lastName(s.X) == "os"
	}
	return false
}

// lastName returns the last name of an expression such as a.folders[i].
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return lastName(e.X)
	}
	return ""
}

func TestOpensAreFound(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "a.go", `package a
type t struct { disk *os.Root; all []*os.Root; other opener }
func (a *t) f(below *os.Root) {
	os.Open("a")
	tls.LoadX509KeyPair("a", "b")
	os.Stat("a")
	a.disk.ReadFile("a")
	a.all[1].FS()
	fs.ReadDir(a.disk.FS(), ".")
	fs.ReadFile(a.disk.FS(), "a")
	a.other.Open("a")
	root, err := os.OpenRoot("a")
	root.OpenFile("a", 0, 0)
	below.Open("a")
	below.Stat("a")
	os.OpenFile("a", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0)
}`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, problem := range findOpens(files, []*ast.File{file}) {
		where, _, _ := strings.Cut(problem, " can block")
		got = append(got, where)
	}
	want := []string{
		"a.go:4:2: os.Open", "a.go:5:2: tls.LoadX509KeyPair", "a.go:7:2: ReadFile of an os.Root", "a.go:8:2: FS of an os.Root",
		"a.go:10:14: FS of an os.Root", "a.go:13:2: OpenFile of an os.Root", "a.go:14:2: Open of an os.Root",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
