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
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// The limits keep the project from growing. Lower them when code was removed. Raise one only with a reason in the commit.
const (
	maxCodeLines     = 147_000 // of the whole module without tests, blank lines and comments
	maxTestLines     = 114_000 // counted in the same way
	maxRootFiles     = 8       // without tests
	maxRootLines     = 1_500
	maxPackages      = 34 // directly below pkg
	maxExportedNames = 120
	maxOptionFields  = 20
)

// A weight is how large a package is.
type weight struct {
	files, lines, testLines int
	exported                int            // names of constants, variables, types and functions
	options                 map[string]int // fields by name of the struct
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
			w = &weight{options: map[string]int{}}
			all[path.Dir(name)] = w
		}
		if strings.HasSuffix(name, "_test.go") {
			w.testLines += codeLines(text)
			return nil
		}
		w.files++
		w.lines += codeLines(text)
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
	count := func(names ...*ast.Ident) {
		for _, n := range names {
			if n.IsExported() {
				w.exported++
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					count(s.Names...)
				case *ast.TypeSpec:
					count(s.Name)
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
	add(lines, maxCodeLines, "the code has too many lines; remove what nothing uses before you add more")
	add(testLines, maxTestLines, "the tests have too many lines; put cases into tables, and test behavior in one place")
	return problems
}

func TestWeightLimitsCanBreak(t *testing.T) {
	t.Parallel()
	text := "package x\n\n// A comment.\ntype AOptions struct {\n\tB, C int\n\tsync.Mutex\n}\n\nvar D, e = 1, 2\n\nfunc F() {}\n\nfunc (a AOptions) G() {}\n"
	files := fstest.MapFS{
		"x/x.go": {Data: []byte(text)}, "x/x_test.go": {Data: []byte("package x\n")}, "x/testdata/no.go": {Data: []byte("?")},
		"other/go.mod": {}, "other/y.go": {Data: []byte("?")},
	}
	got, err := weigh(files)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*weight{"x": {files: 1, lines: 8, testLines: 1, exported: 3, options: map[string]int{"AOptions": 3}}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(weight{})); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	all := map[string]*weight{
		".":     {files: maxRootFiles + 1, lines: maxRootLines + 1},
		"pkg/a": {exported: maxExportedNames + 1, options: map[string]int{"BOptions": maxOptionFields + 1, "COptions": maxOptionFields}},
		"plan":  {lines: maxCodeLines, testLines: maxTestLines + 1},
	}
	for i := range maxPackages {
		all[fmt.Sprintf("pkg/b%d/c", i)] = &weight{}
	}
	problems := tooHeavy(all)
	for i, begin := range []string{
		"pkg/a has too many exported names; ", "pkg/a.BOptions has too many fields; ", "the root package has too many files; ", "the root package has too many lines; ",
		"pkg has too many packages; ", "the code has too many lines; ", "the tests have too many lines; ",
	} {
		if i >= len(problems) || !strings.HasPrefix(problems[i], begin) {
			t.Errorf("%q is not problem %d of %q", begin, i, problems)
		}
	}
}
