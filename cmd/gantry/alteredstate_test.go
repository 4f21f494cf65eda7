package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestAlteredRecord alters a path in the record of a mirror: it does not get into the cluster
// resources. Without the record, the next run writes it again.
func TestAlteredRecord(t *testing.T) {
	t.Parallel()
	long(t)
	w := newFixture(t, registrytest.Options{})
	mirror := []string{"mirror", "-c", w.path("imageset.yaml"), w.docker("/ocp")}
	w.must(mirror...)
	folder := w.path("workspace/cluster-resources")
	before := readFolder(t, folder)
	records, err := filepath.Glob(w.path("workspace/mirrors/*.json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	text, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(records[0], []byte(strings.ReplaceAll(string(text), "/ocp/", "/evil/")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.mirror.ResetLog()
	w.refuse(exitMismatch, []string{records[0], "was altered or damaged", "remove it", "SHA256SUMS"}, mirror...)
	for kind, n := range w.mirror.Requests() {
		if strings.HasPrefix(kind, "P") {
			t.Errorf("%d requests %s", n, kind)
		}
	}
	if err := os.Remove(records[0]); err != nil {
		t.Fatal(err)
	}
	w.must(mirror...)
	if diff := cmp.Diff(before, readFolder(t, folder)); diff != "" {
		t.Errorf("the cluster resources differ: %s", diff)
	}
}
