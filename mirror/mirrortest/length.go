package mirrortest

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// longer has the names of the tests that take longer when they run in full length.
var longer sync.Map

// Short reports whether the test that calls it takes fewer samples. Call it before New.
func Short(t *testing.T) bool {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	longer.Store(name, true)
	return testing.Short()
}

// Long skips a test that make test leaves out. Call it before New.
func Long(t *testing.T) {
	t.Helper()
	if Short(t) {
		t.Skip("a long test (make test-long)")
	}
}

// NotAgain skips a test that is the same in make test, if $GANTRY_TEST_LONG is "only": that one ran before.
func NotAgain(t *testing.T) {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	if _, found := longer.Load(name); !found && !testing.Short() && os.Getenv("GANTRY_TEST_LONG") == "only" {
		t.Skip("the same in make test")
	}
}
