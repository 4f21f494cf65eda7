package main_test

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNoExpressionsAtStart checks that no package of the program compiles a regular expression when
// the program starts. Each costs up to a millisecond, also for gantry --version and completion. Use
// sync.OnceValue.
func TestNoExpressionsAtStart(t *testing.T) {
	t.Parallel()
	packages := 0
	for path := range list(t, "./cmd/gantry") {
		if path != module && !strings.HasPrefix(path, module+"/") {
			continue
		}
		packages++
		files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(path, module), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "man.go" {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, call := range callsAtStart(file, "regexp") {
				t.Errorf("%s: a regular expression is compiled at the start of the program", files.Position(call.Pos()))
			}
		}
	}
	if packages < 50 {
		t.Errorf("only %d packages were checked", packages)
	}
}

// startAllocations is the limit of TestAllocationsAtStart. With Go 1.26 there are some 6,200, most of
// them for regular expressions of semver and go-digest, and for CEL.
const startAllocations = 6450

// TestAllocationsAtStart limits what packages allocate when the program starts, before main. The
// number stands for the time, and hardly varies.
func TestAllocationsAtStart(t *testing.T) {
	t.Parallel()
	packages := list(t, "./cmd/gantry")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--version")
	cmd.Env = append(os.Environ(), "GANTRY_TEST_AS_PROGRAM=1", "GODEBUG=inittrace=1") // see TestMain
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	byPackage := map[string]int{}
	all := 0
	for line := range strings.Lines(trace.String()) {
		// init net/http @4.1 ms, 0.14 ms clock, 4712 bytes, 49 allocs
		words := strings.Fields(line)
		if len(words) != 11 || words[0] != "init" || words[10] != "allocs" {
			continue
		}
		if _, linked := packages[words[1]]; !linked || words[1] == module+"/cmd/gantry" { // the tests' variables
			continue
		}
		n, err := strconv.Atoi(words[9])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		byPackage[words[1]] = n
		all += n
	}
	if len(byPackage) < 100 {
		t.Fatalf("only %d packages were traced:\n%s", len(byPackage), trace.String())
	}
	if all <= startAllocations {
		return
	}
	largest := slices.SortedFunc(maps.Keys(byPackage), func(a, b string) int { return cmp.Compare(byPackage[b], byPackage[a]) })
	t.Errorf("packages allocate %d times when the program starts; the limit is %d", all, startAllocations)
	for _, path := range largest[:20] {
		t.Logf("%6d %s", byPackage[path], path)
	}
}

// callsAtStart returns the calls of a package's functions that initialize variables of a file.
func callsAtStart(file *ast.File, of string) []*ast.CallExpr {
	var calls []*ast.CallExpr
	for _, d := range file.Decls {
		variables, ok := d.(*ast.GenDecl)
		if !ok || variables.Tok != token.VAR {
			continue
		}
		ast.Inspect(variables, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit: // runs later
				return false
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok {
					if pkg, ok := f.X.(*ast.Ident); ok && pkg.Name == of {
						calls = append(calls, n)
					}
				}
			}
			return true
		})
	}
	return calls
}

func TestCallsAtStart(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x

var early, other = regexp.MustCompile("a"), strings.ToLower("b")

var nested = []any{regexp.MustCompile("c")}

var late = sync.OnceValue(func() any { return regexp.MustCompile("d") })

func f() any { return regexp.MustCompile("e") }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(callsAtStart(file, "regexp")); n != 2 {
		t.Errorf("%d calls, want 2", n)
	}
}
