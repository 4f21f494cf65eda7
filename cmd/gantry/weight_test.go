package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// The limits keep the project from growing. Lower them when code was removed. Raise one only with a reason in the commit.
const (
	maxCodeLines     = 147_000 // of the whole module without tests, generated files, blank lines and comments
	maxTestLines     = 114_000 // counted in the same way
	maxRootFiles     = 8       // without tests
	maxRootLines     = 1_500
	maxPackages      = 34 // directly below pkg
	maxExportedNames = 120
	maxOptionFields  = 20
	maxUnusedNames   = 200 // exported names that no other package of the module uses; see unusedNames
)

// A weight is how large a package is.
type weight struct {
	files, lines, testLines int
	exported                int             // names of constants, variables, types and functions
	options                 map[string]int  // fields by name of the struct
	names                   []string        // exported, as PACKAGE.NAME
	mentioned               map[string]bool // the names in types of exported declarations
	uses                    []string        // names of other packages, as PACKAGE.NAME
}

func TestWeight(t *testing.T) {
	t.Parallel()
	all, err := weigh(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range tooHeavy(all) {
		t.Error(problem)
	}
}

// weigh measures the packages of a module, by folder.
func weigh(module fs.FS) (map[string]*weight, error) {
	all := map[string]*weight{}
	err := eachGoFile(module, func(name string, text []byte) error {
		w := all[path.Dir(name)]
		if w == nil {
			w = &weight{options: map[string]int{}, mentioned: map[string]bool{}}
			all[path.Dir(name)] = w
		}
		if strings.HasSuffix(name, "_test.go") {
			w.testLines += codeLines(text)
			return nil
		}
		w.files++
		if !bytes.HasPrefix(text, []byte("// Code generated ")) {
			w.lines += codeLines(text)
		}
		return w.add(name, text)
	})
	return all, err
}

// eachGoFile calls do for each Go file of a module. Other modules in its folders are not part of it.
func eachGoFile(module fs.FS, do func(name string, text []byte) error) error {
	return fs.WalkDir(module, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := fs.Stat(module, path.Join(name, "go.mod"))
			if base := d.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "bin" || other == nil) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		text, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		return do(name, text)
	})
}

// codeLines counts the lines of a file that are neither blank nor a comment.
func codeLines(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// add adds the names and options of a file.
func (w *weight) add(name string, text []byte) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	count := func(typ ast.Node, names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				w.exported++
				w.names = append(w.names, path.Dir(name)+"."+n.Name)
				w.mention(typ)
			}
		}
	}
	w.use(f)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Type, d.Name)
			} else if d.Name.IsExported() {
				w.mention(d.Type)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					count(s.Type, s.Names...)
				case *ast.TypeSpec:
					count(s.Type, s.Name)
					if st, ok := s.Type.(*ast.StructType); ok && strings.HasSuffix(s.Name.Name, "Options") {
						for _, field := range st.Fields.List {
							w.options[s.Name.Name] += max(1, len(field.Names))
						}
					}
				}
			}
		}
	}
	return nil
}

// mention adds the names in the type of an exported declaration.
func (w *weight) mention(typ ast.Node) {
	if typ == nil || reflect.ValueOf(typ).IsNil() {
		return
	}
	ast.Inspect(typ, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			w.mentioned[id.Name] = true
		}
		return true
	})
}

// use adds the names of other packages of the module that a file uses.
func (w *weight) use(f *ast.File) {
	imports := map[string]string{}
	for _, i := range f.Imports {
		if dir, ok := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ok {
			local := path.Base(dir)
			if i.Name != nil {
				local = i.Name.Name
			}
			imports[local] = dir
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
				w.uses = append(w.uses, imports[x.Name]+"."+s.Sel.Name)
			}
		}
		return true
	})
}

// unusedNames lists the exported names that only their package and tests use. Commands, internal packages, packages
// for tests and the root package are not looked at. Types that exported declarations mention are used by those.
func unusedNames(all map[string]*weight) (unused []string) {
	used := map[string]bool{}
	for _, w := range all {
		for _, name := range w.uses {
			used[name] = true
		}
	}
	for dir, w := range all {
		if dir == "." || strings.HasPrefix(dir, "cmd/") || strings.Contains(dir, "internal") || strings.HasSuffix(dir, "test") {
			continue
		}
		for _, name := range w.names {
			if !used[name] && !w.mentioned[name[len(dir)+1:]] {
				unused = append(unused, name)
			}
		}
	}
	slices.Sort(unused)
	return unused
}

// tooHeavy returns a line for each limit that does not hold, with what to do.
func tooHeavy(all map[string]*weight) (problems []string) {
	add := func(n, limit int, format string, args ...any) {
		if n > limit {
			problems = append(problems, fmt.Sprintf(format, args...)+fmt.Sprintf(": %d, and the limit is %d", n, limit))
		}
	}
	var lines, testLines int
	below := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		w := all[dir]
		lines, testLines = lines+w.lines, testLines+w.testLines
		if rest, ok := strings.CutPrefix(dir, "pkg/"); ok {
			first, _, _ := strings.Cut(rest, "/")
			below[first] = true
		}
		add(w.exported, maxExportedNames, "%s has too many exported names; write names that no other package uses in lower case, or divide the package", dir)
		for _, name := range slices.Sorted(maps.Keys(w.options)) {
			add(w.options[name], maxOptionFields, "%s.%s has too many fields; put those that one room reads into a struct of that room, and embed it", dir, name)
		}
	}
	if root := all["."]; root != nil {
		add(root.files, maxRootFiles, "the root package has too many files; what a verb does belongs in its room (see docs/design.md)")
		add(root.lines, maxRootLines, "the root package has too many lines; what a verb does belongs in its room (see docs/design.md)")
	}
	add(len(below), maxPackages, "pkg has too many packages; put the new one below the one that it belongs to")
	unused := unusedNames(all)
	add(len(unused), maxUnusedNames, "too many exported names are used by no other package, such as %s; write some in lower case", strings.Join(unused[:min(len(unused), 10)], ", "))
	add(lines, maxCodeLines, "the code has too many lines; remove what nothing uses before you add more")
	add(testLines, maxTestLines, "the tests have too many lines; put cases into tables, and test behavior in one place")
	return problems
}

func TestWeightLimitsCanBreak(t *testing.T) {
	t.Parallel()
	text := "package x\n\nimport \"" + module + "/y\"\n\n// A comment.\ntype AOptions struct {\n\tB, C int\n\tsync.Mutex\n}\n\nvar D, e = y.Y, 2\n\nfunc F() {}\n\nfunc (a AOptions) G() {}\n"
	files := fstest.MapFS{
		"x/x.go": {Data: []byte(text)}, "x/x_test.go": {Data: []byte("package x\n")}, "x/testdata/no.go": {Data: []byte("?")},
		"y/y.go":       {Data: []byte("package y\n\ntype T int\n\nvar Y, Z T\n")},
		"other/go.mod": {}, "other/y.go": {Data: []byte("?")},
	}
	got, err := weigh(files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*weight{
		"x": {
			files: 1, lines: 9, testLines: 1, exported: 3, options: map[string]int{"AOptions": 3}, names: []string{"x.AOptions", "x.D", "x.F"},
			mentioned: map[string]bool{"B": true, "C": true, "int": true, "sync": true, "Mutex": true}, uses: []string{"y.Y"},
		},
		"y": {files: 1, lines: 3, exported: 3, options: map[string]int{}, names: []string{"y.T", "y.Y", "y.Z"}, mentioned: map[string]bool{"T": true, "int": true}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(weight{})); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	all := map[string]*weight{
		".":     {files: maxRootFiles + 1, lines: maxRootLines + 1},
		"pkg/a": {exported: maxExportedNames + 1, options: map[string]int{"BOptions": maxOptionFields + 1, "COptions": maxOptionFields}},
		"plan":  {lines: maxCodeLines, testLines: maxTestLines + 1},
	}
	if unused := unusedNames(want); !slices.Equal(unused, []string{"x.AOptions", "x.D", "x.F", "y.Z"}) {
		t.Errorf("unused names: %q", unused)
	}
	for i := range maxUnusedNames + 1 {
		all["plan"].names = append(all["plan"].names, fmt.Sprintf("plan.N%03d", i))
	}
	for i := range maxPackages {
		all[fmt.Sprintf("pkg/b%d/c", i)] = &weight{}
	}
	problems := tooHeavy(all)
	for i, begin := range []string{
		"pkg/a has too many exported names; ", "pkg/a.BOptions has too many fields; ", "the root package has too many files; ", "the root package has too many lines; ",
		"pkg has too many packages; ", "too many exported names are used by no other package, such as plan.N000, ", "the code has too many lines; ", "the tests have too many lines; ",
	} {
		if i >= len(problems) || !strings.HasPrefix(problems[i], begin) {
			t.Errorf("%q is not problem %d of %q", begin, i, problems)
		}
	}
}
