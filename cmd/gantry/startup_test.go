package main_test

import (
	"bytes"
	"cmp"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

// startAllocations is the limit of TestAllocationsAtStart. With Go 1.26 there are some 6,200, most of
// them for regular expressions of semver and go-digest, and for CEL. A regular expression costs some hundred, and up to
// a millisecond, also for gantry --version and completion: use sync.OnceValue.
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
	fail.On(t, cmd.Run())
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
