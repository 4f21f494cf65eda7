package payload

import (
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestGates(t *testing.T) {
	want := []Gate{
		{"ack-4.20-api-removals-in-4.21", "4.20", "Migrate resources first."},
		{"ack-4.20-sigstore-in-4.21", "4.20", "Mirror the signatures first."},
	}
	crds := []entry{{"manifests/0000_00_crd.yaml", "kind: CustomResourceDefinition"}}
	program := []entry{{"usr/bin/operator", "program"}}
	release := releaseLayer(t, "4.20.5")
	without := []entry{{"manifests/0000_00_namespace.yaml", "kind: Namespace\nmetadata:\n  name: admin-gates\n"}, {"manifests/link.yaml", "-> /etc/os-release"}}
	for _, tc := range []struct {
		name   string
		layers [][]entry
		want   []Gate
		reads  int // layers
	}{
		{"one layer below", [][]entry{baseLayer, operatorLayer, release}, want, 1},
		{"below others", [][]entry{baseLayer, program, operatorLayer, crds, {{"bootstrap/x", "x"}}, release}, want, 3},
		{"no gates", [][]entry{baseLayer, program, without, crds, release}, nil, 3},
		{"no manifests", [][]entry{baseLayer, program, release}, nil, 2},
		{"nothing below", [][]entry{release}, nil, 0},
	} {
		m := newMemory()
		desc := m.image(t, spec{label: "4.20.5", layers: tc.layers})
		p, err := Read(t.Context(), m, repository, desc.Digest)
		fail.On(t, err)
		m.read = map[digest.Digest]int{}
		got, err := p.Gates(t.Context(), m)
		fail.On(t, err)
		fail.Diff(t, tc.want, got)
		if len(m.read) != tc.reads {
			t.Errorf("%s: %d layers were read, want %d", tc.name, len(m.read), tc.reads)
		}
	}
}

func TestGatesErrors(t *testing.T) {
	for text, want := range map[string]string{
		strings.ReplaceAll(gatesText, "ack-4.20-", "ack-"): "contains no version",
		gatesText + "---\n" + gatesText:                    "the ConfigMap occurs twice",
		gatesText + "  - x":                                "reading \"manifests/gates.yaml\": object 1",
	} {
		m := newMemory()
		desc := m.image(t, spec{label: "4.20.5", layers: [][]entry{{{"./manifests/gates.yaml", text}}, releaseLayer(t, "4.20.5")}})
		p, err := Read(t.Context(), m, repository, desc.Digest)
		fail.On(t, err)
		if _, err := p.Gates(t.Context(), m); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "gates of release 4.20.5") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
