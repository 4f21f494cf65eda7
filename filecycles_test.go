package gantry_test

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// maxCycleFiles is how many files of a package may call each other in a circle. A file that many others call calls none
// of them: what they share stands in it, and what begins a verb stands above them.
const maxCycleFiles = 5

func TestFileCycles(t *testing.T) {
	t.Parallel()
	all, err := fileCycles(os.DirFS("."), maxCycleFiles)
	fail.On(t, err)
	for _, c := range all {
		t.Errorf("%d files of %s call each other, and the limit is %d; move a function that one of them needs from another to the file above or below both: %s",
			len(c.files), c.dir, maxCycleFiles, strings.Join(c.files, " "))
	}
}

// A fileCycle is files of a package that all call functions of each other, directly or through others.
type fileCycle struct {
	dir   string
	files []string
}

// fileCycles returns the cycles of more than limit files in the packages of a module, tests not counted. It knows types
// only within a package: calls of methods whose receiver another package returns are not found. These are few, since
// other packages return types of a package only through type parameters.
func fileCycles(module fs.FS, limit int) (all []fileCycle, err error) {
	fset, packages := token.NewFileSet(), map[string][]*ast.File{}
	err = eachGoFile(module, func(name string, text []byte) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		packages[path.Dir(name)] = append(packages[path.Dir(name)], f)
		return err
	})
	for dir, files := range packages {
		if len(files) <= limit {
			continue
		}
		calls := callsBetween(fset, files)
		reached := map[string]map[string]bool{}
		for name := range calls {
			reached[name] = map[string]bool{}
			reach(calls, name, reached[name])
		}
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			var cycle []string
			for other := range reached[name] {
				if reached[other][name] {
					cycle = append(cycle, path.Base(other))
				}
			}
			slices.Sort(cycle)
			if len(cycle) > limit && cycle[0] == path.Base(name) { // once for all of its files
				all = append(all, fileCycle{dir, cycle})
			}
		}
	}
	slices.SortFunc(all, func(a, b fileCycle) int { return cmp.Or(cmp.Compare(a.dir, b.dir), slices.Compare(a.files, b.files)) })
	return all, err
}

// reach adds the files that calls lead to from a file.
func reach(calls map[string]map[string]bool, from string, to map[string]bool) {
	for next := range calls[from] {
		if !to[next] {
			to[next] = true
			reach(calls, next, to)
		}
	}
}

// callsBetween returns, for each file of a package, the files whose functions and methods it calls.
func callsBetween(fset *token.FileSet, files []*ast.File) map[string]map[string]bool {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}} // such as that imports are not known
	pkg, _ := config.Check(files[0].Name.Name, fset, files, info)
	calls := map[string]map[string]bool{}
	for _, f := range files {
		from := fset.Position(f.Pos()).Filename
		calls[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if selector, method := call.Fun.(*ast.SelectorExpr); method {
				name, ok = selector.Sel, true
			}
			if !ok {
				return true
			}
			if f, ok := info.Uses[name].(*types.Func); ok && f.Pkg() == pkg {
				if to := fset.Position(f.Pos()).Filename; to != from {
					calls[from][to] = true
				}
			}
			return true
		})
	}
	return calls
}

// noImports imports nothing: what a package imports is unknown to it.
type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not imported") }

func TestFileCyclesCanBreak(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		// The value of a function is no call, nor is a function of the same name in another package.
		"a/down.go": {Data: []byte("package a\n\nimport \"x/up\"\n\nvar f = down\n\nfunc down() { up.up(); g := f; g() }\n")},
		"a/up.go":   {Data: []byte("package a\n\nfunc up() { down() }\n")},
		"a/c.go":    {Data: []byte("package a\n\nfunc c() { up() }\n")},
	}
	for i := range 3 {
		files[fmt.Sprintf("b/%d.go", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "package b\n\nimport \"x/sort\"\n\ntype T%d struct{ next *T%d }\n\nfunc (t *T%d) call() { sort.Do(func() { t.next.call() }) }\n", i, (i+1)%3, i)}
	}
	files["b/3_test.go"] = &fstest.MapFile{Data: []byte("package b\n\nfunc callBack() { new(T0).call() }\n")}
	for limit, want := range map[int][]fileCycle{1: {{"b", []string{"0.go", "1.go", "2.go"}}}, 2: {{"b", []string{"0.go", "1.go", "2.go"}}}, 3: nil} {
		got, err := fileCycles(files, limit)
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(fileCycle{})); diff != "" || err != nil {
			t.Errorf("cycles of more than %d files (-want +got), error %v:\n%s", limit, err, diff)
		}
	}
}
