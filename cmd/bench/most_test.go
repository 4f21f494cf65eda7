package main

import (
	"io"
	"strings"
	"testing"
)

// TestCompare checks that a copy that is too slow, failed or was not measured is an error.
func TestCompare(t *testing.T) {
	m := &measured{Preset: "medium"}
	b := &benchRun{report: &report{Presets: []*measured{m}}, log: io.Discard}
	for _, op := range []operation{copying, out, in} {
		m.took(op, floorName, sample{cost: cost{Wall: 2}})
		m.took(op, gantryName, sample{cost: cost{Wall: 3}})
	}
	for most, want := range map[float64]string{0: "", 1.8: "", 1.4: "archive to registry takes 1.50 times as long"} {
		if err := b.compare(most); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("at most %v: %v", most, err)
		}
	}
	m.of(out, gantryName).Problem = "2 blobs are missing"
	m.of(in, gantryName).Samples = nil
	if err := b.compare(1.8); err == nil || !strings.Contains(err.Error(), "2 blobs are missing") || !strings.Contains(err.Error(), "archive to registry: was not measured") {
		t.Errorf("failed operations: %v", err)
	}
}
