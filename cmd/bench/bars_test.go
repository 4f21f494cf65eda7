package main

import (
	"maps"
	"strings"
	"testing"
)

func (m *measured) took(op operation, tool string, s sample) {
	r := m.of(op, tool)
	r.Samples = append(r.Samples, s)
}

func TestBars(t *testing.T) {
	m := &measured{References: 100, Blobs: 50, Digests: 120, Bytes: 1_000_000}
	m.took(copying, floorName, sample{cost: cost{Wall: 2, CPU: 1}, Destination: counts{putUpload: 100}})
	m.took(copying, gantryName, sample{cost: cost{Wall: 3, CPU: 3, Peak: 65 << 20}, Source: counts{getBlob: 51, readManifest: 120}, Destination: counts{putUpload: 100}})
	m.took(copying, "crane", sample{cost: cost{Wall: 4}})
	m.took(copying, "regsync", sample{cost: cost{Wall: 1}})
	m.of(copying, "regsync").Problem = "2 blobs are missing" // does not count as faster
	m.took(outAgain, gantryName, sample{Disk: 32 << 10})
	want := map[string]bool{
		"registry to registry, planning included: time":                 false,
		"registry to registry: time":                                    true,
		"registry to registry: requests at the destination":             true,
		"registry to registry: GETs at the source":                      false,
		"registry to registry: requests for manifests at the source":    true,
		"registry to registry: processor time":                          false,
		"the same archive again, nothing new: written to it and beside": true,
		"most memory": false,
	}
	for _, b := range m.bars() {
		kept, ok := want[b.what]
		if !ok || kept != b.kept() {
			t.Errorf("%s: %.2f of %.2f%s: kept %v, wanted %v, expected at all %v", b.what, b.value, b.most, b.unit, b.kept(), kept, ok)
		}
		delete(want, b.what)
	}
	for what := range want {
		t.Errorf("%s is not compared", what)
	}
	var text strings.Builder
	m.writeBars(&text)
	if !strings.Contains(text.String(), "| registry to registry: processor time | 3.00 x floor | 2 | **missed** |\n") {
		t.Errorf("the table is\n%s", text.String())
	}
}

// TestProcessorTimeOfMedium checks that the workload with large blobs has a limit for each direction.
func TestProcessorTimeOfMedium(t *testing.T) {
	for preset, want := range map[string]map[operation]float64{
		"medium": {copying: 1.8, out: 1.2, in: 1.4},
		"small":  {copying: 2},
	} {
		m := &measured{Preset: preset, References: 1}
		for _, op := range []operation{copying, out, in} {
			m.took(op, floorName, sample{cost: cost{CPU: 1}})
			m.took(op, gantryName, sample{cost: cost{CPU: 1.9}})
		}
		got := map[operation]float64{}
		for _, b := range m.bars() {
			if op, ok := strings.CutSuffix(b.what, ": processor time"); ok {
				got[operation(op)] = b.most
				if b.value != 1.9 {
					t.Errorf("%s: %s: %v", preset, b.what, b.value)
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the limits are %v, want %v", preset, got, want)
		}
	}
}

func TestNothingMeasuredHasNoBars(t *testing.T) {
	var text strings.Builder
	if (&measured{References: 1, Blobs: 1, Digests: 1, Bytes: 1}).writeBars(&text); text.Len() > 0 {
		t.Errorf("wrote %s", text.String())
	}
}
