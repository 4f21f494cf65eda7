package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/gantry-mirror/gantry"

// list returns the packages that match a pattern, and all that they import.
func list(t *testing.T, pattern string) map[string]bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pattern)
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]bool{}
	for path := range strings.FieldsSeq(string(out)) {
		packages[path] = true
	}
	return packages
}
