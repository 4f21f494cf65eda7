package gantry_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

const (
	securityCases = "testdata/security/cases.txt"
	securityPage  = "docs/reference/security.md"
	// minSecurityCases is the least number of cases.
	minSecurityCases = 80
)

// outcomes are the outcomes of cases, and the exit status of each as docs/9-messages.md has it.
var outcomes = map[string]string{
	"input": "10", "partial": "3", "mismatch": "4", "unauthorized": "12", "failure": "1", "harmless": "0", "possible": "",
}

// A securityPlace is where an attacker is, with what protects Gantry there.
type securityPlace struct {
	name, protection string
	cases            []securityCase
}

// A securityCase is what an attacker tries, and the test that shows the outcome.
type securityCase struct {
	line                                    int
	area, tries, outcome, more, dir, fn, of string // of is the case of the test; "" for all
}

// name returns the test as go test -run takes it.
func (c securityCase) name() string { return strings.TrimSuffix(c.fn+"/"+c.of, "/") }

func readSecurityCases(t *testing.T) (places []securityPlace) {
	t.Helper()
	text, err := os.ReadFile(securityCases)
	fail.On(t, err)
	for i, line := range strings.Split(string(text), "\n") {
		name, isPlace := strings.CutPrefix(line, "## ")
		fields := strings.Split(line, " | ")
		switch {
		case line == "" || line[0] == '#' && !isPlace:
		case isPlace:
			places = append(places, securityPlace{name: name})
		case len(fields) == 1 && len(places) > 0:
			places[len(places)-1].protection += line + "\n"
		case len(fields) == 4 && len(places) > 0:
			c := securityCase{line: i + 1, area: fields[0], tries: fields[1]}
			c.outcome, c.more, _ = strings.Cut(fields[2], ": ")
			dir, test, _ := strings.Cut(fields[3], " ")
			c.dir = dir
			c.fn, c.of, _ = strings.Cut(test, "/")
			at := &places[len(places)-1]
			at.cases = append(at.cases, c)
		default:
			t.Fatalf("%s:%d: %q is no case", securityCases, i+1, line)
		}
	}
	return places
}

// TestSecurityCases checks that each case names a test that exists, with the case in it, and that docs/reference/security.md
// is made from the cases. GANTRY_TEST_UPDATE_SECURITY writes it.
func TestSecurityCases(t *testing.T) {
	t.Parallel()
	places, n, possible := readSecurityCases(t), 0, 0
	for _, p := range places {
		for _, c := range p.cases {
			n++
			if _, ok := outcomes[c.outcome]; !ok {
				t.Errorf("%s:%d: unknown outcome %q", securityCases, c.line, c.outcome)
			}
			if c.outcome == "possible" {
				possible++
			}
			if err := findTest(c.dir, c.fn, c.of); err != nil {
				t.Errorf("%s:%d: %v", securityCases, c.line, err)
			}
		}
		if p.protection == "" || len(p.cases) == 0 {
			t.Errorf("%s: %q has no cases, or no text", securityCases, p.name)
		}
	}
	if n < minSecurityCases || len(places) < 6 || possible == 0 {
		t.Errorf("%d cases at %d places, %d of them possible", n, len(places), possible)
	}
	page := []byte(renderSecurity(places, n))
	if os.Getenv("GANTRY_TEST_UPDATE_SECURITY") != "" {
		fail.On(t, os.WriteFile(securityPage, page, 0o644))
	}
	have, err := os.ReadFile(securityPage)
	fail.On(t, err)
	if !bytes.Equal(have, page) {
		t.Errorf("%s is not what the cases make: GANTRY_TEST_UPDATE_SECURITY=1 go test -run TestSecurityCases .", securityPage)
	}
}

// findTest returns an error unless a folder has a test function, whose file has a text.
func findTest(dir, fn, text string) error {
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("%s has no tests: %w", dir, err)
	}
	want, err := strconv.Unquote(`"` + text + `"`)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		has, found := false, text == ""
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				has = has || n.Recv == nil && n.Name.Name == fn
			case *ast.BasicLit:
				if value, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && value == want {
					found = true
				}
			}
			return true
		})
		if has && found {
			return nil
		}
		if has {
			return fmt.Errorf("%s in %s has no case %q", fn, file, want)
		}
	}
	return fmt.Errorf("%s has no test %s", dir, fn)
}

// renderSecurity writes the page.
func renderSecurity(places []securityPlace, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Threat model\n\nWhat an attacker can and cannot do, by the place where the attacker is: %d cases. Each names the test that shows it; `make security` runs them.\n"+
		"A test makes this page from `%s`. [Security](../security.md) says how to report what is missing here.\n\n"+
		"*Status* is the [exit status](../9-messages.md) of a command that ends with the error. If it is about the source of one image, chart or file, that is\n"+
		"missing instead, and the run ends with 3. 0: nothing happens.\n", n, securityCases)
	for _, p := range places {
		fmt.Fprintf(&b, "\n## %s\n\n%s", p.name, p.protection)
		var can, cannot strings.Builder
		for _, c := range p.cases {
			test := fmt.Sprintf("`%s` %s", path.Clean(c.dir), c.fn)
			if c.of != "" {
				test += ": " + c.of
			}
			if c.outcome == "possible" {
				fmt.Fprintf(&can, "| %s | %s | %s |\n", c.tries, c.more, test)
				continue
			}
			status := outcomes[c.outcome]
			if c.more != "" {
				status += ": " + c.more
			}
			fmt.Fprintf(&cannot, "| %s | %s | %s | %s |\n", c.area, c.tries, status, test)
		}
		if can.Len() > 0 {
			b.WriteString("\nAn attacker here can try, and succeed:\n\n| what | then | test |\n|---|---|---|\n" + can.String())
		}
		b.WriteString("\nAn attacker here can try, without success:\n\n| area | what | status | test |\n|---|---|---|---|\n" + cannot.String())
	}
	return b.String()
}

// TestSecurityCasesRun runs the tests of all cases if GANTRY_TEST_SECURITY is set, and logs a report. "long" runs them in full
// length.
func TestSecurityCasesRun(t *testing.T) {
	mode := os.Getenv("GANTRY_TEST_SECURITY")
	if mode == "" {
		t.Skip("it runs the tests of many packages (make security)")
	}
	packages := map[string][]string{}
	places := readSecurityCases(t)
	for _, p := range places {
		for _, c := range p.cases {
			packages[c.dir] = append(packages[c.dir], c.fn)
		}
	}
	results := map[string]string{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		tests := packages[dir]
		slices.Sort(tests)
		runTests(t, dir, slices.Compact(tests), mode == "long", results)
	}
	counts := map[string]int{}
	for _, p := range places {
		for _, c := range p.cases {
			result, ok := results[c.dir+" "+testName(c.name())]
			if !ok { // the cases of the test have no names of their own
				result = results[c.dir+" "+c.fn]
			}
			counts[result]++
			t.Logf("%-4s %-14s %-13s %-9s %s", result, p.name, c.area, c.outcome, c.tries)
			if result != "pass" && (result != "skip" || mode == "long") {
				t.Errorf("%s:%d: %s: %s", securityCases, c.line, c.name(), result)
			}
		}
	}
	t.Logf("%v", counts)
}

// runTests runs tests of a package, and adds their results, by folder and name.
func runTests(t *testing.T, dir string, tests []string, long bool, results map[string]string) {
	t.Helper()
	args := []string{"test", "-json", "-vet=off", "-ldflags=-s -w", "-run", "^(" + strings.Join(tests, "|") + ")$", "."}
	if !long {
		args = slices.Insert(args, 1, "-short")
	}
	began := time.Now()
	defer func() { t.Logf("%-40s %s", dir, time.Since(began).Round(time.Second/10)) }()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.FromSlash(dir)
	out, err := cmd.Output()
	if err != nil {
		t.Logf("the tests of %s: %v", dir, err) // their events say which
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var event struct{ Action, Test string }
		if json.Unmarshal(lines.Bytes(), &event) == nil && event.Test != "" && slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			if name := dir + " " + event.Test; results[name] != "fail" {
				results[name] = event.Action
			}
		}
	}
}

var testSpace = regexp.MustCompile(`\s`)

// testName returns the name of a test as package testing writes it.
func testName(name string) string { return testSpace.ReplaceAllString(name, "_") }
